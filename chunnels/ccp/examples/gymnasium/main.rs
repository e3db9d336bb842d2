//! Congestion control with the interface of Gymnasium: an environment in virtual time, for agents of any language.
//!
//! ```text
//! cargo run -p bertha-ccp --example gymnasium            # an environment on standard input and output, in lines of JSON
//! cargo run -p bertha-ccp --example gymnasium -- learn   # an agent of this program learns, and shows its policy
//! ```
#![allow(clippy::print_stdout, reason = "the output of a program")]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests panic to fail"))]

mod agent;
mod environment;
mod protocol;

use std::error::Error;
use std::io;

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).is_some_and(|it| it == "learn") {
        for generations in [0, 4, 8] {
            let policy = agent::learn(generations, 1)?;
            println!("{generations} generations: a mean reward of {:.2} by {policy:?}", policy.score(2)?);
        }
        return Ok(());
    }
    protocol::serve(io::BufReader::new(io::stdin()), io::stdout())?;
    Ok(())
}
