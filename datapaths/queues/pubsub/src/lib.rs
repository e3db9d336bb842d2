//! Topics in Google Cloud Pub/Sub as the bottom of a stack.
