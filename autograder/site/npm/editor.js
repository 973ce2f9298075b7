// What the pages use of CodeMirror; bundled into one file.
export { autocompletion, closeCompletion, completionKeymap } from "@codemirror/autocomplete";
export { indentWithTab } from "@codemirror/commands";
export { python } from "@codemirror/lang-python";
export { indentUnit, syntaxHighlighting } from "@codemirror/language";
export { EditorState } from "@codemirror/state";
export { EditorView, keymap } from "@codemirror/view";
export { classHighlighter } from "@lezer/highlight";
export { basicSetup } from "codemirror";
