//! The order of the targets of a service, as in RFC 2782.

/// A target of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) priority: u16,
    pub(super) weight: u16,
}

/// Returns the targets by rising priority; among targets of equal priority, one after another is drawn at
/// random in proportion to its weight. A service whose only target is the root is not offered, and has no
/// targets.
pub(super) fn selected(mut targets: Vec<Target>, mut random: impl FnMut() -> u32) -> Vec<Target> {
    if matches!(&targets[..], [only] if only.host == ".") {
        return Vec::new();
    }
    // Targets without weight come first among equals, so that they have a chance, too.
    targets.sort_by_key(|target| (target.priority, target.weight));
    let mut order = Vec::with_capacity(targets.len());
    while let Some(first) = targets.first() {
        let priority = first.priority;
        let equals = targets.iter().take_while(|target| target.priority == priority);
        let total: u64 = equals.clone().map(|target| u64::from(target.weight)).sum();
        let drawn = u64::from(random()) % (total + 1);
        let mut sum = 0;
        let position = equals.clone().position(|target| {
            sum += u64::from(target.weight);
            sum >= drawn
        });
        order.push(targets.remove(position.unwrap_or(0)));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(host: &str, priority: u16, weight: u16) -> Target {
        Target { host: host.into(), port: 1, priority, weight }
    }

    fn order(targets: &[Target], random: u32) -> Vec<String> {
        selected(targets.to_vec(), || random).into_iter().map(|target| target.host).collect()
    }

    #[test]
    fn priorities_come_before_weights_and_weights_decide_among_equals() {
        let targets = [target("b", 2, 9), target("heavy", 1, 3), target("none", 1, 0), target("light", 1, 1)];
        // The drawn numbers are 0, then 0 of 4, 0 of 3, 0 of 9.
        assert_eq!(order(&targets, 0), ["none", "light", "heavy", "b"]);
        // The drawn numbers are 4 of 4, then 1 of 1 + 0, 0 of 0.
        assert_eq!(order(&targets, 4), ["heavy", "none", "light", "b"]);
    }

    #[test]
    fn a_target_is_first_in_proportion_to_its_weight() {
        let targets = [target("heavy", 1, 300), target("light", 1, 99)];
        let firsts = (0..400).filter(|random| order(&targets, *random)[0] == "heavy").count();
        assert_eq!(firsts, 300);
    }

    #[test]
    fn a_service_that_is_not_offered_has_no_target() {
        assert!(order(&[target(".", 0, 0)], 0).is_empty());
        assert!(order(&[], 0).is_empty());
    }
}
