//! `Tls` and the tools that everybody has: `openssl s_client` and `s_server` over plain TCP, and tshark on what passed.
//!
//! Without them the tests are skipped, and say so; in CI they fail.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

mod capture;
mod certificates;
mod decoded;
mod program;
mod with_client;
mod with_server;
