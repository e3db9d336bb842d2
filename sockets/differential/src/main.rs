//! The program `bertha-sockets-differential`.

#![forbid(unsafe_code)]

use bertha_sockets_differential::compare::{compare, shrink};
use bertha_sockets_differential::hardships::Hardships;
use bertha_sockets_differential::player::Player;
use bertha_sockets_differential::program::Program;
use clap::Parser;
use std::io;
use std::process::ExitCode;

/// Plays random programs of socket calls on kernel sockets and behind a command, and shows those whose results differ.
///
/// The command stands before the player. Without one, both runs are on kernel sockets, which shows that the programs depend on nothing else.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Number of programs
    #[arg(long, default_value_t = 1000)]
    programs: u64,
    /// Seed of the first program; those of the others follow
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Stop after so many programs whose results differ
    #[arg(long, default_value_t = 10)]
    differences: usize,
    /// Show the whole program of a difference, and do not look for a part that is enough
    #[arg(long)]
    whole: bool,
    /// Fail if fewer runs had rings: equal results of kernel sockets alone prove nothing
    #[arg(long, default_value_t = 0)]
    rings: u64,
    /// Run the programs that are hard on sockets, and no random ones
    #[arg(long)]
    hardships: bool,
    /// Print the program of the first seed, and play none
    #[arg(long)]
    print: bool,
    /// Command before the player of the second run, as `env LD_PRELOAD=libbertha_sockets.so`
    #[arg(last = true)]
    behind: Vec<String>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

#[allow(clippy::print_stderr, reason = "it is what the program says when it fails")]
fn complain(error: &io::Error) {
    eprintln!("bertha-sockets-differential: {error}");
}

/// Returns the number of programs whose results differ.
#[allow(clippy::print_stdout, reason = "it is what the program is for")]
fn run(arguments: &Arguments) -> io::Result<usize> {
    if arguments.print {
        print!("{}", Program::of_seed(arguments.seed));
        return Ok(0);
    }
    if arguments.hardships {
        return hardships(&arguments.behind);
    }
    let player = Player::build()?;
    let (mut played, mut differences) = (0, 0);
    for seed in arguments.seed..arguments.seed.saturating_add(arguments.programs) {
        played += 1;
        if let Some(difference) = compare(&player, &Program::of_seed(seed), &arguments.behind)? {
            let shown =
                if arguments.whole { difference } else { shrink(&player, difference, &arguments.behind)? };
            println!("seed {seed}: {shown}");
            differences += 1;
            if differences >= arguments.differences {
                break;
            }
        }
    }
    let rings = player.rings()?;
    println!("{played} programs, {differences} with other results; {rings} runs had rings");
    if rings < arguments.rings {
        return Err(io::Error::other(format!("{rings} runs had rings, and not {}", arguments.rings)));
    }
    Ok(differences)
}

/// Returns the number of programs that do not say the same behind the command.
#[allow(clippy::print_stdout, reason = "it is what the program is for")]
fn hardships(behind: &[String]) -> io::Result<usize> {
    let hardships = Hardships::build()?;
    let mut differences = 0;
    for name in hardships.names()? {
        let (expected, found) = (hardships.play(&name, &[])?, hardships.play(&name, behind)?);
        if expected == found {
            println!("{name}: the same {} lines", found.lines.len());
        } else {
            println!("{name}: {:?} instead of {:?}", found.lines, expected.lines);
            differences += 1;
        }
    }
    Ok(differences)
}
