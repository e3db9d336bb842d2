//! The flows that belong together.

use portus::DatapathInfo;

/// The flows that belong to one aggregate. A flow without an IPv4 address is alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// All flows from one address of this host: they share the host's link.
    Host,
    /// All flows between the same two addresses: they most likely share their path.
    Pair,
    /// The flows of the same addresses and ports: one flow at a time.
    Tuple,
}

/// A group of flows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GroupingKey(Group);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Group {
    Host { source: u32 },
    Pair { source: u32, destination: u32 },
    Tuple { source: [u32; 2], destination: [u32; 2] },
    Alone { flow: u32 },
}

impl Grouping {
    /// Returns the group of a flow.
    pub fn key(self, flow: &DatapathInfo) -> GroupingKey {
        let source = flow.src_ip;
        let destination = flow.dst_ip;
        GroupingKey(match self {
            _ if source == 0 => Group::Alone { flow: flow.sock_id },
            Self::Host => Group::Host { source },
            Self::Pair => Group::Pair { source, destination },
            Self::Tuple => {
                Group::Tuple { source: [source, flow.src_port], destination: [destination, flow.dst_port] }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(sock_id: u32, src_ip: u32, src_port: u32, dst_ip: u32) -> DatapathInfo {
        DatapathInfo { sock_id, init_cwnd: 10, mss: 1, src_ip, src_port, dst_ip, dst_port: 80 }
    }

    #[test]
    fn flows_are_grouped_by_what_they_have_in_common() {
        let flows = [flow(1, 1, 1, 7), flow(2, 1, 2, 7), flow(3, 1, 3, 8), flow(4, 2, 1, 7)];
        let with_first =
            |grouping: Grouping| flows.each_ref().map(|flow| grouping.key(flow) == grouping.key(&flows[0]));
        assert_eq!(with_first(Grouping::Host), [true, true, true, false]);
        assert_eq!(with_first(Grouping::Pair), [true, true, false, false]);
        assert_eq!(with_first(Grouping::Tuple), [true, false, false, false]);
    }

    #[test]
    fn flows_without_an_address_are_alone() {
        for grouping in [Grouping::Host, Grouping::Pair, Grouping::Tuple] {
            assert_ne!(grouping.key(&flow(1, 0, 0, 0)), grouping.key(&flow(2, 0, 0, 0)));
        }
    }
}
