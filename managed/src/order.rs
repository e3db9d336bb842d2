//! The orders of operators to a running daemon.

mod ask;

use crate::attach::{Malformed, is_name};
use ask::{ask, connect};
use bertha_core::{Error, ErrorKind};
use bertha_schemas::Schema;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::timeout;

/// An order of an operator.
///
/// It is a line of text with tabs between its parts, of which the first names the order; the bytes of a schema follow the line of
/// [`Bind`](Self::Bind). The daemon answers with a line, `done` or `refused`, and a text behind it, and closes the connection.
///
/// # Example
/// ```
/// use bertha_managed::Order;
///
/// let order = Order::Remove { service: "hotel".into(), name: "acl".into() };
/// assert_eq!(order.to_line()?, "remove\thotel\tacl\n");
/// assert_eq!(Order::read("remove\thotel\tacl")?, order);
/// # Ok::<(), bertha_managed::attach::Malformed>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// The daemon lists services, with their servers, callers and engines.
    List,
    /// Calls of a service pass another engine, behind the others.
    Add {
        /// The name of the service.
        service: String,
        /// The name of the engine.
        name: String,
        /// The kind of the engine.
        kind: String,
        /// The settings of the engine, as [`Settings`](crate::Settings) are written.
        settings: String,
    },
    /// Settings of an engine change.
    Configure {
        /// The name of the service.
        service: String,
        /// The name of the engine.
        name: String,
        /// The settings that change.
        settings: String,
    },
    /// The daemon reads the schema that follows, and keeps it for applications to come. It answers with a line for each service, with tabs: the
    /// full name, the hash of the schema, and the numbers of methods and of the messages that they reach.
    Bind {
        /// Number of bytes of the descriptor set.
        bytes: u32,
    },
    /// The daemon opens a library with a kind of engine, or with another version of one.
    Load {
        /// The absolute path of the library.
        path: String,
    },
    /// A kind of engine that was loaded can be named no more.
    Unload {
        /// The name of the kind.
        kind: String,
    },
    /// The newest version of its kind takes the place of an engine, with its state and the requests that it holds.
    Upgrade {
        /// The name of the service.
        service: String,
        /// The name of the engine.
        name: String,
        /// The kind of the engine.
        kind: String,
    },
    /// Calls of a service pass an engine no more.
    Remove {
        /// The name of the service.
        service: String,
        /// The name of the engine.
        name: String,
    },
    /// Calls of a service go to the servers at these addresses, with commas between them, or nowhere without one.
    Route {
        /// The name of the service.
        service: String,
        /// The addresses.
        to: String,
    },
    /// Large rows in messages of a service go to other daemons in another way.
    Send {
        /// The name of the service.
        service: String,
        /// The way: `writev`, `write` or `copy`.
        by: String,
    },
}

/// Time in which the daemon has to answer.
const ANSWERED: Duration = Duration::from_secs(10);

impl Order {
    /// Number of bytes of the longest line.
    pub const LONGEST: usize = 64 << 10;

    /// Number of bytes of the longest schema.
    pub const LONGEST_SCHEMA: usize = Schema::LONGEST;

    /// Returns the line.
    ///
    /// # Errors
    /// Fails if a part has a control character, or if the line is too long.
    pub fn to_line(&self) -> Result<String, Malformed> {
        let bytes;
        let parts: &[&str] = match self {
            Self::List => &["list"],
            Self::Bind { bytes: number } => {
                bytes = number.to_string();
                &["bind", &bytes]
            }
            Self::Add { service, name, kind, settings } => &["add", service, name, kind, settings],
            Self::Configure { service, name, settings } => &["configure", service, name, settings],
            Self::Load { path } => &["load", path],
            Self::Unload { kind } => &["unload", kind],
            Self::Upgrade { service, name, kind } => &["upgrade", service, name, kind],
            Self::Remove { service, name } => &["remove", service, name],
            Self::Route { service, to } => &["route", service, to],
            Self::Send { service, by } => &["send", service, by],
        };
        if parts.iter().any(|part| part.contains(char::is_control)) {
            return Err(CONTROL);
        }
        if matches!(self, Self::Bind { bytes } if *bytes as usize > Self::LONGEST_SCHEMA) {
            return Err(TOO_LONG);
        }
        let line = parts.join("\t") + "\n";
        if line.len() <= Self::LONGEST {
            Ok(line)
        } else {
            Err(Malformed { what: "an order is longer than 64 KiB" })
        }
    }

    /// Reads a line, without its end.
    ///
    /// # Errors
    /// Fails for a line that is no order, or that names a service or an engine as no application could.
    pub fn read(line: &str) -> Result<Self, Malformed> {
        if line.contains(|letter: char| letter.is_control() && letter != '\t') {
            return Err(CONTROL);
        }
        let order = Self::parts_of(line)?;
        let (service, name) = match &order {
            Self::List | Self::Bind { .. } | Self::Load { .. } => return Ok(order),
            Self::Unload { kind } => (kind, kind),
            Self::Route { service, .. } | Self::Send { service, .. } => (service, service),
            Self::Add { service, name, .. }
            | Self::Configure { service, name, .. }
            | Self::Upgrade { service, name, .. }
            | Self::Remove { service, name } => (service, name),
        };
        if [service, name].into_iter().all(|name| is_name(name)) { Ok(order) } else { Err(NO_NAME) }
    }

    fn parts_of(line: &str) -> Result<Self, Malformed> {
        let parts: Vec<String> = line.split('\t').map(Into::into).collect();
        let (order, parts) = parts.split_first().ok_or(UNKNOWN)?;
        match (order.as_str(), parts) {
            ("list", []) => Ok(Self::List),
            ("bind", [bytes]) => {
                // Only the number as it is written above, so that an order has one form.
                let number = bytes.parse().ok().filter(|number: &u32| number.to_string() == *bytes);
                let bytes = number.ok_or(UNKNOWN)?;
                if bytes as usize <= Self::LONGEST_SCHEMA { Ok(Self::Bind { bytes }) } else { Err(TOO_LONG) }
            }
            ("add", [service, name, kind, settings]) => {
                let [service, name, kind, settings] = [service, name, kind, settings].map(Clone::clone);
                Ok(Self::Add { service, name, kind, settings })
            }
            ("configure", [service, name, settings]) => {
                let [service, name, settings] = [service, name, settings].map(Clone::clone);
                Ok(Self::Configure { service, name, settings })
            }
            ("load", [path]) => Ok(Self::Load { path: path.clone() }),
            ("unload", [kind]) => Ok(Self::Unload { kind: kind.clone() }),
            ("upgrade", [service, name, kind]) => {
                let [service, name, kind] = [service, name, kind].map(Clone::clone);
                Ok(Self::Upgrade { service, name, kind })
            }
            ("remove", [service, name]) => Ok(Self::Remove { service: service.clone(), name: name.clone() }),
            ("route", [service, to]) => Ok(Self::Route { service: service.clone(), to: to.clone() }),
            ("send", [service, by]) => Ok(Self::Send { service: service.clone(), by: by.clone() }),
            _ => Err(UNKNOWN),
        }
    }

    /// Returns the path of the socket for orders to the daemon whose applications attach at a path.
    pub fn socket(attach: &Path) -> PathBuf {
        let mut path = OsString::from(attach);
        path.push(".operators");
        path.into()
    }

    /// Gives the order to the daemon whose applications attach at a path, and returns its answer. A future that is dropped may have given
    /// the order.
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) with the reason of the daemon. [`TimedOut`](ErrorKind::TimedOut) if it does not answer within ten
    /// seconds. The errors of the system, with the path.
    pub async fn give(&self, attach: &Path) -> Result<String, Error> {
        self.give_with(attach, &[]).await
    }

    /// Gives the order as [`give`](Self::give) does, with the bytes that follow its line: a descriptor set for [`Bind`](Self::Bind), and none for
    /// other orders.
    ///
    /// # Errors
    /// The errors of `give`. [`Invalid`](ErrorKind::Invalid) if there are more bytes or fewer than the order says.
    pub async fn give_with(&self, attach: &Path, content: &[u8]) -> Result<String, Error> {
        let bytes = if let Self::Bind { bytes } = self { *bytes as usize } else { 0 };
        if bytes != content.len() {
            let what = format!("{} bytes follow an order that has {bytes}", content.len());
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        let line =
            self.to_line().map_err(|malformed| Error::new(ErrorKind::Invalid, malformed.to_string()))?;
        let path = Self::socket(attach);
        let asking = async { ask(connect(&path).await?, line.as_bytes(), content).await };
        let late =
            || Error::new(ErrorKind::TimedOut, format!("the daemon at {} does not answer", path.display()));
        let answer = timeout(ANSWERED, asking).await.map_err(|_| late())?;
        let answer = answer.map_err(|error| {
            let path = path.display();
            match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    let what = format!("orders at {path} are for the daemon's user and root: {error}");
                    Error::new(ErrorKind::Refused, what)
                }
                _ => {
                    let what = format!("no daemon takes orders at {path}: {error}");
                    Error::new(Error::from(error).kind(), what)
                }
            }
        })?;
        match answer.split_once('\n') {
            Some(("done", text)) => Ok(text.to_owned()),
            Some(("refused", reason)) => Err(Error::new(ErrorKind::Refused, reason.trim_end().to_owned())),
            None if answer.is_empty() => {
                Err(Error::new(ErrorKind::Closed, "the daemon has ended before it answered"))
            }
            _ => Err(Error::new(ErrorKind::Malformed, "the daemon speaks another protocol")),
        }
    }
}

const CONTROL: Malformed = Malformed { what: "a name or a setting of an order has a control character" };
const TOO_LONG: Malformed = Malformed { what: "a schema is longer than 1 MiB" };
const NO_NAME: Malformed = Malformed {
    what: "the name of a service or an engine has 1 to 255 letters, digits and signs of ASCII, with single spaces between them",
};
const UNKNOWN: Malformed = Malformed {
    what: "an order is list, bind, load, unload, add, configure, upgrade, remove, route or send, with its parts",
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn orders_are_read_as_they_were_written() {
        let text = |text: &str| text.to_owned();
        let orders = [
            Order::List,
            Order::Add {
                service: text("a b"),
                name: text("n"),
                kind: text("acl"),
                settings: text("x=1 y=2"),
            },
            Order::Configure { service: text("a"), name: text("n"), settings: text("") },
            Order::Bind { bytes: 0 },
            Order::Bind { bytes: 1 << 20 },
            Order::Load { path: text("/a b") },
            Order::Unload { kind: text("k") },
            Order::Upgrade { service: text("a"), name: text("n"), kind: text("k") },
            Order::Remove { service: text("a"), name: text("n") },
            Order::Route { service: text("a"), to: text("10.0.0.1:7000") },
            Order::Send { service: text("a"), by: text("write") },
        ];
        for order in orders {
            let line = order.to_line().unwrap();
            assert_eq!(Order::read(line.strip_suffix('\n').unwrap()), Ok(order));
        }
    }

    #[test]
    fn what_would_be_another_order_is_refused() {
        for wrong in ["a\nlist", "a\tb", "\0"] {
            assert!(
                Order::Remove { service: wrong.into(), name: "n".into() }.to_line().is_err(),
                "{wrong:?}"
            );
        }
        assert_eq!(Order::Bind { bytes: (1 << 20) + 1 }.to_line(), Err(TOO_LONG));
        let long = Order::Route { service: "x".repeat(Order::LONGEST), to: String::new() };
        assert!(long.to_line().is_err());
        for wrong in [
            "",
            "lis",
            "list\t",
            "add\ta\tb\tc",
            "remove\ta",
            "route\ta\tb\tc",
            "load",
            "load\ta\tb",
            "unload",
            "upgrade\ta\tb",
            "send\ta",
        ] {
            assert_eq!(Order::read(wrong), Err(UNKNOWN), "{wrong:?}");
        }
        for wrong in ["bind", "bind\t", "bind\t-1", "bind\t+1", "bind\t01", "bind\t4294967296", "bind\t1\t1"]
        {
            assert_eq!(Order::read(wrong), Err(UNKNOWN), "{wrong:?}");
        }
        assert_eq!(Order::read("bind\t1048577"), Err(TOO_LONG));
        assert_eq!(Order::read("remove\ta\0\tn"), Err(CONTROL));
        for name in ["", "\u{202e}a", &"x".repeat(256)] {
            assert_eq!(Order::read(&format!("remove\t{name}\tn")), Err(NO_NAME));
            assert_eq!(Order::read(&format!("route\t{name}\t")), Err(NO_NAME));
        }
    }

    proptest! {
        #[test]
        fn any_line_is_an_order_or_none(line in "(list|bind|load|unload|add|upgrade|remove|route|send|configure)?[1a\t =]{0,12}") {
            if let Ok(order) = Order::read(&line) {
                prop_assert_eq!(order.to_line().unwrap(), line + "\n");
            }
        }
    }
}
