//! Help, manual pages and completions, from the command line's own description.

use crate::exit;
use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;
use clap_mangen::Man;
use std::io::{self, ErrorKind, Write};

/// Adds to a program what all programs have: the exit codes in `--help`, also of each subcommand, and the
/// subcommands `completion` and `man`.
pub(crate) fn documented(command: Command) -> Command {
    let completion = Command::new("completion")
        .about("Prints the completions for a shell, for the folder in which the shell looks for them")
        .arg(
            Arg::new("shell")
                .value_name("SHELL")
                .help("Name of the shell")
                .required(true)
                .value_parser(value_parser!(Shell)),
        );
    let man = Command::new("man")
        .about("Prints the manual page, for `man -l`; with a subcommand, the page of the subcommand")
        .arg(Arg::new("subcommand").value_name("SUBCOMMAND").help("Name of the subcommand"));
    let with_codes = command.mut_subcommands(with_exit_codes).subcommand(completion).subcommand(man);
    with_exit_codes(with_codes)
}

fn with_exit_codes(command: Command) -> Command {
    let help = match command.get_after_help() {
        Some(own) => format!("{own}\n\n{}", exit::HELP),
        None => exit::HELP.to_owned(),
    };
    command.after_help(help)
}

/// Prints completions or a manual page if the command line asks for it; returns `None` if not.
pub(crate) fn print(command: &Command, matches: &ArgMatches) -> Option<Result<(), String>> {
    let document = match matches.subcommand()? {
        ("completion", given) => Ok(completions(command, *given.get_one("shell")?)),
        ("man", given) => page(command, given.get_one::<String>("subcommand").map(String::as_str)),
        _ => return None,
    };
    Some(document.and_then(|document| written(&document)))
}

/// Returns the script with the completions for a shell.
pub(crate) fn completions(command: &Command, shell: Shell) -> Vec<u8> {
    // The script is generated in memory: the generator panics if its output is closed.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command.clone(), command.get_name(), &mut script);
    script
}

/// Returns the manual page of a program or of its subcommand.
pub(crate) fn page(command: &Command, subcommand: Option<&str>) -> Result<Vec<u8>, String> {
    let mut whole = command.clone();
    whole.build();
    let described = match subcommand {
        None => whole,
        Some(name) => whole.find_subcommand(name).cloned().ok_or_else(|| {
            format!("there is no subcommand `{name}`; `{} --help` lists them", command.get_name())
        })?,
    };
    let mut page = Vec::new();
    Man::new(described).render(&mut page).map_err(|error| error.to_string())?;
    Ok(page)
}

fn written(document: &[u8]) -> Result<(), String> {
    let mut out = io::stdout().lock();
    match out.write_all(document).and_then(|()| out.flush()) {
        // The reader of the output has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| error.to_string()),
    }
}
