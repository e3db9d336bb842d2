//! The stack or the device of `bertha run`.

use crate::keys::KeyOptions;
use crate::site::datapaths;
use bertha::{Error, ErrorKind};
use bertha_named::{Side, Stack, Transport};
use bertha_sockets_machine::device::SETTINGS;
use clap::Args;
use std::fmt::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// The options of what carries the connections of a program that knows nothing of Bertha.
#[derive(Debug, Args)]
pub(crate) struct StackOptions {
    /// The stack that carries the program's TCP connections, those that it makes and those that it accepts: Chunnels, top first. The
    /// other end is a program that runs so, too, or one of Bertha with the same stack. Over datagrams, `ordered` is put on `reliable` in
    /// a stack that has none.
    #[arg(long, value_name = "STACK")]
    stack: Option<Stack>,
    /// The device that carries the program's TCP connections and datagrams as they are, in the place of the kernel: `dpdk-tcp` is the port that
    /// the environment of `bertha-socketd` describes. The other end is any program. `--address` limits it to what is behind the device.
    #[arg(long, value_name = "DATAPATH", value_parser = datapaths(Transport::is_plain), conflicts_with = "stack")]
    device: Option<Transport>,
    /// The datapath of the stack, one with addresses of IP, to which programs connect.
    #[arg(long, value_parser = datapaths(is_of_daemon), default_value_t = Transport::Udp, requires = "stack")]
    over: Transport,
    #[command(flatten)]
    keys: KeyOptions,
}

impl StackOptions {
    /// Returns the settings for the daemon at this socket, which has to be there.
    pub(crate) fn settings(&self, daemon: &Path) -> Result<Option<String>, Error> {
        let invalid = |what: String| Error::new(ErrorKind::Invalid, what);
        let given = self.keys.given()?;
        let mut all = Vec::new();
        match (&self.stack, self.device) {
            (Some(stack), _) => {
                let stack = for_bytes(&stack.to_string(), self.over);
                self.check(&stack.parse()?)?;
                all.extend([("stack", stack), ("over", self.over.to_string())]);
                all.extend(given);
            }
            (None, device) => {
                if let Some((name, _)) = given.first() {
                    // A user who gives keys must not get clear text.
                    return Err(invalid(format!("--{name} is for a stack, and there is no --stack")));
                }
                let Some(device) = device else { return Ok(None) };
                all.push(("device", device.to_string()));
            }
        }
        let mut settings = String::new();
        for (name, value) in all {
            if value.contains('\n') {
                return Err(invalid(format!("the value of --{name} has more than one line")));
            }
            // Writing to a string does not fail.
            let _ = writeln!(settings, "{name}={value}");
        }
        if settings.len() > SETTINGS {
            return Err(invalid(format!("stack and keys have more than {SETTINGS} bytes")));
        }
        // What is to be encrypted must not go through the kernel in clear because nobody noticed.
        UnixStream::connect(daemon).map_err(|error| {
            Error::of_file(format_args!("no daemon carries the connections: {}", daemon.display()), error)
        })?;
        Ok(Some(settings))
    }

    /// Checks, for one side at least, that the keys are there, and that the stack carries a stream of bytes. A program may be both.
    fn check(&self, stack: &Stack) -> Result<(), Error> {
        let keys = self.keys.keys();
        let of = |side| stack.check_byte_stream(self.over, &keys, side);
        let checked =
            of(Side::Client { host: "localhost" }).or_else(|error| of(Side::Server).map_err(|_| error));
        checked.map_err(|error| {
            let what = format!("`--stack {stack}` can't carry TCP over {}: {}", self.over, error.context());
            error.retold(what)
        })
    }
}

/// Returns true for a datapath that `bertha-socketd` has, and whose addresses are those of IP.
fn is_of_daemon(transport: Transport) -> bool {
    matches!(transport.name(), "udp" | "tcp" | "dpdk" | "dpdk-tcp")
}

/// Returns the stack with `ordered` on `reliable`, if it has neither it nor a datapath that keeps the order.
fn for_bytes(stack: &str, over: Transport) -> String {
    let is_ordered = matches!(over.name(), "tcp" | "dpdk-tcp");
    if is_ordered || layers(stack).any(|layer| layer == "ordered") {
        return stack.to_owned();
    }
    let reliable = layers(stack).find(|layer| *layer == "reliable" || layer.starts_with("reliable="));
    reliable.map_or_else(|| stack.to_owned(), |layer| stack.replacen(layer, &format!("(ordered,{layer})"), 1))
}

fn layers(stack: &str) -> impl Iterator<Item = &str> {
    stack.split(['|', ',', '(', ')'])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        stack: StackOptions,
    }

    /// Returns the reason why options are refused.
    fn refusal(options: &[&str]) -> String {
        let options = Options::parse_from([&["run"], options].concat());
        options.stack.settings(Path::new("/nowhere")).unwrap_err().to_string()
    }

    #[test]
    fn keys_that_encrypt_nothing_and_keys_that_are_not_there_are_refused() {
        assert!(refusal(&["--tls-ca", "ca.pem"]).contains("there is no --stack"));
        assert!(refusal(&["--key-file", "key"]).contains("there is no --stack"));
        let lacks = ["--stack", "tls", "--over", "tcp", "--tls-ca", "/nowhere/ca.pem"];
        assert!(refusal(&lacks).contains("/nowhere/ca.pem"), "{}", refusal(&lacks));
        let is_there = refusal(&["--stack", "checksum", "--over", "tcp"]);
        assert!(is_there.contains("no daemon carries the connections"), "{is_there}");
    }

    #[test]
    fn a_device_is_tcp_without_stack_and_keys() {
        assert!(refusal(&["--device", "tcp"]).contains("no daemon carries the connections"));
        assert!(refusal(&["--device", "tcp", "--key-file", "key"]).contains("there is no --stack"));
        for wrong in [&["run", "--device", "udp"][..], &["run", "--device", "tcp", "--stack", "tls"]] {
            assert!(Options::try_parse_from(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_stack_that_loses_bytes_is_refused_before_the_program_starts() {
        for (stack, over) in
            [("", "udp"), ("checksum", "udp"), ("checksum|nothing", "udp"), ("fault=0.1", "udp")]
        {
            let reason = refusal(&["--stack", stack, "--over", over]);
            assert!(reason.contains("can't carry TCP over udp: the stack has to be"), "{stack}: {reason}");
        }
        for (stack, over) in [("", "tcp"), ("checksum|reliable", "udp"), ("reliable", "udp")] {
            let is_taken = refusal(&["--stack", stack, "--over", over]);
            assert!(is_taken.contains("no daemon carries the connections"), "{stack}: {is_taken}");
        }
    }

    #[test]
    fn the_datapaths_of_the_help_are_those_that_are_taken() {
        let mut command = Options::command();
        let over = command.get_arguments().find(|argument| argument.get_id() == "over").unwrap();
        let listed: Vec<_> = over.get_possible_values();
        assert!(listed.iter().any(|value| value.get_name() == "udp"));
        for transport in Transport::ALL {
            let is_listed = listed.iter().any(|value| value.get_name() == transport.name());
            let options = ["run", "--stack", "ordered,reliable", "--over", transport.name()];
            let taken = command.try_get_matches_from_mut(options).is_ok();
            assert_eq!(taken, is_listed, "{transport}");
            assert_eq!(
                taken,
                !["unix", "unix-stream", "shm", "caladan"].contains(&transport.name()),
                "{transport}"
            );
        }
    }

    #[test]
    fn what_is_reliable_over_datagrams_is_ordered_once() {
        for (stack, over, wanted) in [
            ("reliable", Transport::Udp, "(ordered,reliable)"),
            ("tls,reliable=cubic", Transport::Udp, "tls,(ordered,reliable=cubic)"),
            ("quic|(tls,reliable)", Transport::Udp, "quic|(tls,(ordered,reliable))"),
            ("tls,ordered,reliable", Transport::Udp, "tls,ordered,reliable"),
            ("quic", Transport::Udp, "quic"),
            ("tls,reliable", Transport::Tcp, "tls,reliable"),
            ("", Transport::Tcp, ""),
        ] {
            assert_eq!(for_bytes(stack, over), wanted);
        }
    }
}
