"""Small changes of the reference itself: the checks have to see every one that makes it wrong."""
