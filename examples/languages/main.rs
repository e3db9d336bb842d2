//! One end of a conversation whose other end may be in C or Python: `bindings/c/examples` and `bindings/python/examples`
//! have the same programs, which print the same.
//!
//! | program | what it shows |
//! |---|---|
//! | `languages echo` | messages over each datapath of this machine |
//! | `languages certificates` | TLS, with certificates of both ends |
//! | `languages service` | calls with deadlines, a stream of responses and a stream of requests, in CBOR or JSON |
//! | `languages change` | another stack while messages flow |
//! | `languages topic` | a topic of NATS or Redis, whose messages are acknowledged after the work |
//!
//! A server prints its address. `bindings/matrix` runs each program of each language with each.
#![allow(clippy::print_stdout, reason = "what an example prints is what it shows")]

mod certificates;
mod change;
mod echo;
mod service;
#[cfg(any(feature = "nats", feature = "redis-streams"))]
mod topic;

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

#[bertha::main]
async fn main() -> Outcome {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["echo", "serve", datapath, address] => echo::serve(datapath, address).await,
        ["echo", "ask", datapath, address, ref texts @ ..] => echo::ask(datapath, address, texts).await,
        ["certificates", "serve", address, folder] => certificates::serve(address, folder).await,
        ["certificates", "ask", address, folder] => certificates::ask(address, folder).await,
        ["service", "serve", codec, address] => service::serve(codec, address).await,
        ["service", "ask", codec, address, text] => service::ask(codec, address, text).await,
        ["change", "serve", address] => change::serve(address).await,
        ["change", "ask", address] => change::ask(address).await,
        #[cfg(any(feature = "nats", feature = "redis-streams"))]
        ["topic", "work", server, topic, number] => topic::work(server, topic, number.parse()?).await,
        #[cfg(any(feature = "nats", feature = "redis-streams"))]
        ["topic", "publish", server, topic, ref texts @ ..] => topic::publish(server, topic, texts).await,
        _ => Err("echo|certificates|service|change|topic, with the arguments that its file names".into()),
    }
}
