//! The names of topics and subscriptions.

/// The rules for names of a project's resources.
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

    /// Returns the short name of the topic for messages that a subscription was delivered too often.
    pub(crate) fn dead_letters(&self, topic: &str, name: &str) -> String {
        format!("{topic}-{name}-dead")
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
        assert_eq!(names.dead_letters("orders", "billing"), "orders-billing-dead");
    }
}
