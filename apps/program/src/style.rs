//! The common style of command lines, which a test of each program checks.

use crate::{documents, exit};
use clap::{Arg, Command};
use clap_complete::Shell;

/// The words for values, with their meanings: a value of one kind has one name and one form in all programs.
pub const VALUES: &[(&str, &str)] = &[
    ("ADDRESS", "IP:PORT, unix:PATH, and, where a program says so, HOST[:PORT]"),
    ("BYTES", "a size in bytes, without a unit"),
    ("COMMAND", "a program and its arguments"),
    ("CONNECTIONS", "a number of connections"),
    ("CONTROL", "a congestion control, by its name"),
    ("COUNT", "any other number of things"),
    ("DIGEST", "SHA-256 in hexadecimal digits"),
    ("ENGINE", "SERVICE:KIND:SETTINGS, a policy on calls"),
    ("FILE", "the path of a file"),
    ("FOLDER", "the path of a folder"),
    ("ID", "the number of a participant"),
    ("IP", "an IP address without a port"),
    ("MILLISECONDS", "a time in whole milliseconds"),
    ("NAME", "a name"),
    ("NAME=UID", "a name or its beginning, and a user"),
    ("NAME=VALUE", "a property"),
    ("PORT", "the number of a port"),
    ("PREFIX", "IP/BITS: the addresses that begin with these bits"),
    ("PREFIX=UID", "the beginning of addresses, and a user"),
    ("RATE", "operations per second"),
    ("SECONDS", "a time in seconds, with or without a fraction"),
    ("SEED", "the seed of random choices"),
    ("SERVICE", "a service"),
    (
        "SERVICE=ADDRESS",
        "a service, and the address to which its calls go, or several with commas between them",
    ),
    ("SHARE", "a share from 0 to 1"),
    ("SHELL", "a shell"),
    ("STACK", "Chunnels, top first"),
    ("SUBCOMMAND", "a subcommand"),
    ("UID", "the number of a user"),
    ("URL", "a store or a messaging service"),
];

/// Returns what is not as in the other programs: values with other names, and options that `--help`, a manual
/// page or the completions lack. Each program has a test that nothing is found.
pub fn faults(command: Command) -> Vec<String> {
    let mut program = documents::documented(command);
    program.build();
    let scripts: Vec<_> = [Shell::Bash, Shell::Zsh, Shell::Fish]
        .into_iter()
        .map(|shell| (shell, text(documents::completions(&program, shell))))
        .collect();
    let mut faults = Vec::new();
    let mut check = |command: &Command, page: Result<Vec<u8>, String>| {
        let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
        // The generator of pages escapes hyphens.
        let page = text(page.unwrap_or_default()).replace('\\', "");
        let help = command.clone().render_long_help().to_string();
        for (what, document) in [("--help", &help), ("the manual page", &page)] {
            if !exit::HELP.lines().all(|line| document.contains(line.trim())) {
                faults.push(format!("{name}: {what} has no exit codes"));
            }
        }
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            faults.extend(value_fault(argument).map(|fault| format!("{name}: {fault}")));
            let Some(long) = argument.get_long() else { continue };
            for (what, document) in [("--help", &help), ("the manual page", &page)] {
                if !document.contains(&format!("--{long}")) {
                    faults.push(format!("{name}: {what} lacks --{long}"));
                }
            }
            for (shell, script) in &scripts {
                if !script.contains(long) {
                    faults.push(format!("{name}: the completions for {shell} lack --{long}"));
                }
            }
        }
    };
    check(&program, documents::page(&program, None));
    for subcommand in program.get_subcommands() {
        if !["help", "completion", "man"].contains(&subcommand.get_name()) {
            check(subcommand, documents::page(&program, Some(subcommand.get_name())));
        }
    }
    faults
}

/// Returns the fault of an argument whose value has a name of its own. Names of alternatives need none: the
/// alternatives are listed.
fn value_fault(argument: &Arg) -> Option<String> {
    if !argument.get_action().takes_values() || !argument.get_possible_values().is_empty() {
        return None;
    }
    let names = argument.get_value_names().unwrap_or_default();
    let unknown = names.iter().find(|name| VALUES.iter().all(|(known, _)| known != &name.as_str()))?;
    Some(format!("the value of {} is {unknown}, which is no word of all programs", argument.get_id()))
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// README.md beside the programs has both tables.
    #[test]
    fn the_documentation_of_the_programs_has_all_codes_and_values() {
        let readme = include_str!("../../README.md");
        let rows = |heading: &str| {
            let (_, section) = readme.split_once(heading).unwrap_or_default();
            let rows = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
            let rows = rows.take_while(|line| line.starts_with('|'));
            rows.map(|row| row.trim_matches('|').replace('`', "")).collect::<Vec<_>>()
        };
        let row = |name: &str, meaning: &str| format!(" {name} | {meaning} ");
        let values: Vec<_> = VALUES.iter().map(|(name, meaning)| row(name, meaning)).collect();
        assert_eq!(rows("## Values"), values);
        let codes = exit::HELP.lines().skip(1).filter_map(|line| line.trim().split_once("  "));
        assert_eq!(rows("## Ends"), codes.map(|(code, meaning)| row(code, meaning)).collect::<Vec<_>>());
    }

    #[test]
    fn a_value_with_a_name_of_its_own_is_found() {
        let with = |name: &'static str| {
            faults(Command::new("program").arg(Arg::new("to").long("to").value_name(name)))
        };
        assert_eq!(with("ADDRESS"), [""; 0]);
        let [fault] = &with("ADDR")[..] else { panic!("one fault") };
        assert!(fault.contains("ADDR"), "{fault}");
    }
}
