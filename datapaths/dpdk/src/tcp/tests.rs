//! Two interfaces on one wire.
