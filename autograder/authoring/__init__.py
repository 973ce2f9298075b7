"""The author's side: makes assignments/ and releases from solutions/, and proves the graders."""
