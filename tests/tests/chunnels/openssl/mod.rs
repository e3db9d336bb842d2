//! `Tls` against common tools: `openssl s_client` and `s_server` over plain TCP, and tshark on the bytes that
//! passed.
//!
//! If the tools are missing, the tests print so and are skipped; in CI they fail.

mod capture;
mod certificates;
mod decoded;
mod program;
mod with_client;
mod with_server;
