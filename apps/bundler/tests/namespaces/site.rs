//! Four machines in a row: a host, the sendbox, a path, and a host with the receivebox.

use std::fs::File;
use std::os::fd::AsFd;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Addresses of the sending host, of both ends of the path, and of the receiving host.
pub(crate) const SENDER: &str = "10.98.1.1";
pub(crate) const SENDBOX: &str = "10.98.2.1";
pub(crate) const RECEIVEBOX: &str = "10.98.2.2";
pub(crate) const RECEIVER: &str = "10.98.3.1";

/// The destinations of the bundle.
pub(crate) const BUNDLE: &str = "10.98.3.0/24";

/// The same by IPv6.
pub(crate) const RECEIVER_V6: &str = "fd98:3::1";
pub(crate) const BUNDLE_V6: &str = "fd98:3::/64";

/// A machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Sender,
    Sendbox,
    Path,
    Receiver,
}

const PLACES: [Place; 4] = [Place::Sender, Place::Sendbox, Place::Path, Place::Receiver];

/// The machines, which are taken down when the value is dropped.
#[derive(Debug)]
pub(crate) struct Site {
    name: String,
}

impl Site {
    /// Creates the machines. If this machine can't have them, prints a loud message and returns `None`.
    pub(crate) fn up() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let has = |program: &str| {
            let mut command = Command::new(program);
            command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
        };
        if !rustix::process::geteuid().is_root() || !has("ip") || !has("ethtool") {
            bertha_tests::skip("boxes between network namespaces need root, `ip` and `ethtool`");
            return None;
        }
        let site = Self { name: format!("bundler-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed)) };
        for place in PLACES {
            done(&["netns", "add", &site.of(place)]);
            site.ip(place, "link set lo up");
        }
        site.link((Place::Sender, "box"), (Place::Sendbox, "lan"));
        site.link((Place::Sendbox, "wan"), (Place::Path, "near"));
        site.link((Place::Path, "far"), (Place::Receiver, "wan"));
        site.ip(Place::Sender, &format!("addr add {SENDER}/24 dev box"));
        site.ip(Place::Sender, "route add default via 10.98.1.2");
        site.ip(Place::Sendbox, "addr add 10.98.1.2/24 dev lan");
        site.ip(Place::Sendbox, &format!("addr add {SENDBOX}/24 dev wan"));
        site.ip(Place::Sendbox, &format!("route add {BUNDLE} via {RECEIVEBOX}"));
        site.ip(Place::Receiver, &format!("addr add {RECEIVEBOX}/24 dev wan"));
        site.ip(Place::Receiver, &format!("addr add {RECEIVER}/32 dev lo"));
        site.ip(Place::Receiver, &format!("route add default via {SENDBOX} src {RECEIVER}"));
        site.ip(Place::Sender, "addr add fd98:1::1/64 dev box nodad");
        site.ip(Place::Sender, "route add default via fd98:1::2");
        site.ip(Place::Sendbox, "addr add fd98:1::2/64 dev lan nodad");
        site.ip(Place::Sendbox, "addr add fd98:2::1/64 dev wan nodad");
        site.ip(Place::Sendbox, &format!("route add {BUNDLE_V6} via fd98:2::2"));
        site.ip(Place::Receiver, "addr add fd98:2::2/64 dev wan nodad");
        site.ip(Place::Receiver, &format!("addr add {RECEIVER_V6}/128 dev lo nodad"));
        site.ip(Place::Receiver, &format!("route add default via fd98:2::1 src {RECEIVER_V6}"));
        for setting in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
            site.inside(Place::Sendbox, || std::fs::write(format!("/proc/sys/net/{setting}"), "1").unwrap());
        }
        Some(site)
    }

    /// Lays a cable whose packets are those of a wire: no longer, and with their checksums.
    fn link(&self, (one, name): (Place, &str), (other, peer): (Place, &str)) {
        let [at, peer_at] = [one, other].map(|place| self.of(place));
        done(&["link", "add", name, "netns", &at, "type", "veth", "peer", "name", peer, "netns", &peer_at]);
        for (place, name) in [(one, name), (other, peer)] {
            self.ip(place, &format!("link set {name} up"));
            let whole = ["-K", name, "tso", "off", "gso", "off", "gro", "off", "tx", "off"];
            assert_success(&self.command(place, "ethtool").args(whole).output().unwrap());
        }
    }

    fn of(&self, place: Place) -> String {
        format!("{}-{}", self.name, format!("{place:?}").to_lowercase())
    }

    /// Runs `ip` on a machine.
    pub(crate) fn ip(&self, place: Place, arguments: &str) -> String {
        let of = self.of(place);
        done(&["-n", &of].into_iter().chain(arguments.split(' ')).collect::<Vec<_>>())
    }

    /// Returns a command on a machine.
    pub(crate) fn command(&self, place: Place, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.of(place), program]);
        command
    }

    /// Calls a function on a thread of its own on a machine. Sockets that it opens belong to the machine.
    pub(crate) fn inside<T: Send>(&self, place: Place, function: impl FnOnce() -> T + Send) -> T {
        let namespace = File::open(format!("/run/netns/{}", self.of(place))).unwrap();
        let entering = move || {
            let network = Some(rustix::thread::LinkNameSpaceType::Network);
            rustix::thread::move_into_link_name_space(namespace.as_fd(), network).unwrap();
            function()
        };
        std::thread::scope(|scope| scope.spawn(entering).join().unwrap())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for place in PLACES {
            // A machine that was not made can't be taken down.
            let _ = Command::new("ip").args(["netns", "del", &self.of(place)]).output();
        }
    }
}

fn done(arguments: &[&str]) -> String {
    let output = Command::new("ip").args(arguments).output().unwrap();
    assert_success(&output);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn assert_success(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
