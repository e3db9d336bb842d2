//! Kafka topics as the bottom of a stack.
