//! Redis Streams as the bottom of a stack.
