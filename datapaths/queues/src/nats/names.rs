//! The names of a topic's parts at the server.

use super::failure::invalid;
use bertha_core::Error;

/// Suffix of the topic for dead letters, behind the name of a topic.
const DEAD: &str = "-dead";

/// Returns the name of the topic for dead letters; `None` for a topic that holds dead letters itself.
pub(crate) fn dead_letters(topic: &str) -> Option<String> {
    (!is_of_dead_letters(topic)).then(|| format!("{topic}{DEAD}"))
}

pub(crate) fn is_of_dead_letters(topic: &str) -> bool {
    topic.ends_with(DEAD)
}

/// Last part of the subject of messages without a key, in a topic that keeps order by key.
const WITHOUT_KEY: &str = "any";

/// Returns the subjects of a topic: its name; or a subject for each partition, and behind them the subject of
/// messages without a key.
pub(crate) fn subjects(topic: &str, partitions: Option<usize>) -> Vec<String> {
    let Some(count) = partitions else { return vec![topic.to_owned()] };
    let partitions = (0..count).map(|partition| format!("{topic}.{partition}"));
    partitions.chain([format!("{topic}.{WITHOUT_KEY}")]).collect()
}

/// Returns the name of the consumer of a subscription, for one of its topic's subjects.
pub(crate) fn consumer(subscription: &str, topic: &str, subject: &str) -> String {
    match subject.strip_prefix(topic).and_then(|rest| rest.strip_prefix('.')) {
        None => subscription.to_owned(),
        Some(part) => format!("{subscription}-{part}"),
    }
}

/// Returns true if messages of this subject stay in order.
pub(crate) fn is_ordered(topic: &str, subject: &str) -> bool {
    subject != topic && subject.strip_prefix(topic) != Some(&format!(".{WITHOUT_KEY}"))
}

/// # Errors
/// Returns [`Invalid`](bertha_core::ErrorKind::Invalid) if the server allows no such name.
pub(crate) fn check(what: &str, name: &str) -> Result<(), Error> {
    let is_forbidden = |c: char| c.is_whitespace() || c.is_control() || ".*>/\\".contains(c);
    if name.is_empty() || name.len() > 200 || name.contains(is_forbidden) {
        return Err(invalid(format!(
            "{what} can't be called `{}`: a name has 1 to 200 bytes, without spaces and any of . * > / \\",
            name.escape_debug()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_of_dead_letters_has_none_of_its_own() {
        let dead = dead_letters("orders").unwrap();
        assert_eq!(dead, "orders-dead");
        assert_eq!(dead_letters(&dead), None);
    }

    #[test]
    fn names_that_are_patterns_are_refused() {
        for name in ["", "a.b", "a b", "*", ">", "a/b", "a\n"] {
            assert!(check("a topic", name).is_err(), "{name:?}");
        }
        assert!(check("a topic", "orders-2_a").is_ok());
    }
}
