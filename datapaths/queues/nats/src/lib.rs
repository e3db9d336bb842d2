//! Topics in NATS JetStream as the bottom of a stack.
