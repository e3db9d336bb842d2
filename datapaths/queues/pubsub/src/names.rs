//! The names of topics and subscriptions.

/// How the resources of a project are named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) project: String,
}

impl Names {
    pub(crate) fn topic(&self, topic: &str) -> String {
        format!("projects/{}/topics/{topic}", self.project)
    }

    pub(crate) fn subscription(&self, topic: &str, name: &str) -> String {
        format!("projects/{}/subscriptions/{topic}-{name}", self.project)
    }

    /// The topic for messages that a subscription was delivered too often.
    pub(crate) fn dead_topic(&self, topic: &str, name: &str) -> String {
        self.topic(&format!("{topic}-{name}-dead"))
    }

    /// The subscription that keeps them.
    pub(crate) fn dead_subscription(&self, topic: &str, name: &str) -> String {
        self.subscription(topic, &format!("{name}-dead"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_documentation() {
        let names = Names { project: "shop".into() };
        assert_eq!(names.topic("orders"), "projects/shop/topics/orders");
        assert_eq!(names.subscription("orders", "billing"), "projects/shop/subscriptions/orders-billing");
        assert_eq!(names.dead_topic("orders", "billing"), "projects/shop/topics/orders-billing-dead");
        assert_eq!(
            names.dead_subscription("orders", "billing"),
            "projects/shop/subscriptions/orders-billing-dead"
        );
    }
}
