//! The text of `INFO`.

use super::Counters;

/// The version of Redis whose protocol clients may expect: the first one with RESP3. Of its commands, some are served.
pub(super) const REDIS_VERSION: &str = "6.0.0";

/// The sections, in the order of Redis.
const SECTIONS: [&str; 8] =
    ["Server", "Clients", "Memory", "Persistence", "Stats", "Replication", "Cluster", "Keyspace"];

/// The sections of these names, or all of them without names.
pub(super) fn text(wanted: &[Vec<u8>], counters: &Counters) -> String {
    let names = |section: &str, name: &[u8]| {
        let mut known = ["default", "all", "everything", section].into_iter();
        known.any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
    };
    let is_wanted = |section: &str| wanted.is_empty() || wanted.iter().any(|name| names(section, name));
    let sections = SECTIONS.into_iter().filter(|section| is_wanted(section));
    let sections = sections.map(|section| format!("# {section}\r\n{}", fields(section, counters)));
    sections.collect::<Vec<_>>().join("\r\n")
}

fn fields(section: &str, counters: &Counters) -> String {
    match section {
        "Server" => {
            let uptime = counters.uptime().as_secs();
            lines(&[
                ("redis_version", &REDIS_VERSION),
                ("redis_mode", &"standalone"),
                ("server_name", &"bertha-kvstore"),
                ("server_version", &env!("CARGO_PKG_VERSION")),
                ("os", &std::env::consts::OS),
                ("arch_bits", &usize::BITS),
                ("process_id", &std::process::id()),
                ("uptime_in_seconds", &uptime),
                ("uptime_in_days", &(uptime / 86_400)),
            ])
        }
        "Clients" => lines(&[("connected_clients", &counters.clients()), ("blocked_clients", &0)]),
        "Memory" => lines(&[("maxmemory", &0), ("maxmemory_policy", &"noeviction")]),
        "Persistence" => lines(&[("loading", &0), ("rdb_bgsave_in_progress", &0), ("aof_enabled", &0)]),
        "Stats" => {
            let mut text = lines(&[
                ("total_connections_received", &counters.connections()),
                ("total_commands_processed", &counters.commands()),
            ]);
            for (reason, count) in counters.endings() {
                text.push_str(&format!("connections_ended_{reason}:{count}\r\n"));
            }
            text
        }
        "Replication" => lines(&[("role", &"master"), ("connected_slaves", &0)]),
        "Cluster" => lines(&[("cluster_enabled", &0)]),
        _ => String::new(),
    }
}

fn lines(fields: &[(&str, &dyn std::fmt::Display)]) -> String {
    fields.iter().map(|(name, value)| format!("{name}:{value}\r\n")).collect()
}
