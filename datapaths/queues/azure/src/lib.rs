//! Topics in Azure Queue Storage as the bottom of a stack.
