//! The stack of `bertha run`.

use crate::keys::KeyOptions;
use crate::site::datapaths;
use bertha::{Error, ErrorKind};
use bertha_named::{Stack, Transport};
use bertha_sockets_machine::device::SETTINGS;
use clap::Args;
use std::fmt::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// The options of a stack under a program that knows nothing of Bertha.
#[derive(Debug, Args)]
pub(crate) struct StackOptions {
    /// The stack that carries the program's TCP connections, those that it makes and those that it accepts: Chunnels, top first. The
    /// other end is a program that runs so, too, or one of Bertha with the same stack. Over datagrams, `ordered` is put on `reliable` in
    /// a stack that has none.
    #[arg(long, value_name = "STACK")]
    stack: Option<Stack>,
    /// The datapath of the stack.
    #[arg(long, value_parser = datapaths(), default_value_t = Transport::Udp, requires = "stack")]
    over: Transport,
    #[command(flatten)]
    keys: KeyOptions,
}

impl StackOptions {
    /// Returns the settings for the daemon at this socket, which has to be there.
    pub(crate) fn settings(&self, daemon: &Path) -> Result<Option<String>, Error> {
        let Some(stack) = &self.stack else { return Ok(None) };
        let invalid = |what: String| Error::new(ErrorKind::Invalid, what);
        if matches!(self.over, Transport::Unix | Transport::UnixStream | Transport::Shm) {
            return Err(invalid(format!("a program connects to IP addresses, and {} has none", self.over)));
        }
        let stack = for_bytes(&stack.to_string(), self.over);
        stack.parse::<Stack>()?;
        let mut settings = String::new();
        let given = self.keys.given()?;
        let all = [("stack", stack), ("over", self.over.to_string())].into_iter().chain(given);
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
            Error::of_file(format_args!("no daemon carries the stack: {}", daemon.display()), error)
        })?;
        Ok(Some(settings))
    }
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
mod tests {
    use super::*;

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
