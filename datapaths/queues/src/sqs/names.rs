//! The names of queues and SNS topics.

use bertha_core::{Error, ErrorKind};

/// Suffix of the names of FIFO queues and FIFO topics, which AWS prescribes.
const FIFO: &str = ".fifo";

/// The rules by which a service's value names queues and SNS topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Names {
    /// True if queues and topics are FIFO.
    pub(crate) fifo: bool,
}

impl Names {
    /// Returns the queue or SNS topic of a topic, whose name may have the FIFO suffix or not.
    pub(crate) fn topic(self, topic: &str) -> Result<String, Error> {
        match (topic.strip_suffix(FIFO), self.fifo) {
            (Some(_), true) | (None, false) => Ok(topic.into()),
            (None, true) => Ok(format!("{topic}{FIFO}")),
            (Some(_), false) => Err(Error::new(
                ErrorKind::Invalid,
                format!("{topic:?} is the name of a FIFO queue; call fifo() on the service's value, or choose another name"),
            )
            .at("Sqs")),
        }
    }

    /// Returns the queue of a subscription of the SNS topic `topic`.
    pub(crate) fn subscription(self, topic: &str, name: &str) -> String {
        self.extended(topic, name)
    }

    /// Returns the queue for messages of `queue` that were delivered too often.
    pub(crate) fn dead_letters(self, queue: &str) -> String {
        self.extended(queue, "dead")
    }

    fn extended(self, name: &str, by: &str) -> String {
        match name.strip_suffix(FIFO) {
            Some(stem) if self.fifo => format!("{stem}-{by}{FIFO}"),
            _ => format!("{name}-{by}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifo_names_end_as_they_have_to() {
        let names = Names { fifo: true };
        assert_eq!(names.topic("orders").unwrap(), "orders.fifo");
        assert_eq!(names.topic("orders.fifo").unwrap(), "orders.fifo");
        assert_eq!(names.subscription("orders.fifo", "billing"), "orders-billing.fifo");
        assert_eq!(names.dead_letters("orders-billing.fifo"), "orders-billing-dead.fifo");
    }

    #[test]
    fn standard_names_are_no_fifo_names() {
        let names = Names { fifo: false };
        assert_eq!(names.topic("orders").unwrap(), "orders");
        assert_eq!(names.topic("orders.fifo").unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(names.dead_letters("orders"), "orders-dead");
    }
}
