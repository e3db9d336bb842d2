//! The environment on standard input and output, or the learner of this crate with its policy.
#![allow(clippy::print_stdout, reason = "the output of a program")]

use bertha_park::{Learner, STEPS, Vegas, WINDOWS, score, serve};
use std::error::Error;
use std::io;

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        None => serve(io::stdin().lock(), io::stdout().lock())?,
        Some("learn") => learn(1)?,
        Some(other) => {
            return Err(format!("{other:?} is no command: `learn`, or none for the environment").into());
        }
    }
    Ok(())
}

fn learn(seed: u64) -> Result<(), Box<dyn Error>> {
    let vegas = score(seed, STEPS, Vegas::default())?;
    println!("Vegas: a mean reward of {:.2} by {:.0} packets", vegas.reward, vegas.window);
    for (name, space) in [("confined", [0.2 * vegas.window, 2.0 * vegas.window]), ("free", WINDOWS)] {
        let mut learner = Learner::new(space, seed);
        for generation in 1..=8 {
            learner.learn(seed, STEPS)?;
            let reward = score(seed, STEPS, learner.policy())?.reward;
            println!("{name}, generation {generation}: {reward:.2} by {:?}", learner.policy());
        }
    }
    Ok(())
}
