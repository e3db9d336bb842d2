//! The reason why a rule matched nowhere.

use crate::Node;

/// Returns the most helpful reason: how far the pattern matched at the place where it matched furthest.
///
/// It compares names. Where all names agree, the parameters or the place must differ.
pub(super) fn why_not(pattern: &[&str], stack: &[Node]) -> String {
    let mut lists = Vec::new();
    collect(stack, &mut lists);
    let best = lists
        .iter()
        .flat_map(|list| (0..list.len()).map(|start| progress(pattern, &list[start..])))
        .max_by_key(|found| found.matched);
    match best {
        Some(Progress { matched, .. }) if matched == pattern.len() => {
            format!("{} stands there, but at another place or with other parameters", written(pattern))
        }
        Some(Progress { matched, instead }) if matched > 0 => {
            let instead = instead.map_or("nothing", short);
            let found = written(&pattern[..matched]);
            let missing = short(pattern[matched]);
            format!("below {found} stands {instead} where {missing} should be")
        }
        _ => format!("there is no {} in the stack", pattern.first().copied().map_or("Chunnel", short)),
    }
}

struct Progress<'s> {
    /// The number of matched items of the pattern.
    matched: usize,
    /// The element of the stack in the place of the next item.
    instead: Option<&'s str>,
}

fn progress<'s>(pattern: &[&str], list: &[&'s str]) -> Progress<'s> {
    let mut position = 0;
    let mut gap = false;
    for (matched, &item) in pattern.iter().enumerate() {
        if item == GAP {
            gap = true;
            continue;
        }
        let rest = list.get(position..).unwrap_or_default();
        let found = if gap {
            rest.iter().position(|&name| name == item)
        } else {
            rest.first().filter(|&&name| name == item).map(|_| 0)
        };
        let Some(skipped) = found else {
            let instead = if gap { None } else { rest.first().copied() };
            return Progress { matched, instead };
        };
        position += skipped + 1;
        gap = false;
    }
    Progress { matched: pattern.len(), instead: None }
}

const GAP: &str = "*";
const CHOICE: &str = "a select!";

/// Collects the names of the stack's list and of each alternative in it.
fn collect<'s>(nodes: &'s [Node], lists: &mut Vec<Vec<&'s str>>) {
    let mut list = Vec::new();
    for node in nodes {
        match node {
            Node::Layer(layer) => list.push(layer.full_name()),
            Node::Select { branches, .. } => {
                list.push(CHOICE);
                branches.iter().for_each(|branch| collect(branch, lists));
            }
        }
    }
    lists.push(list);
}

fn short(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

fn written(items: &[&str]) -> String {
    items.iter().copied().map(short).collect::<Vec<_>>().join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LayerInfo;

    fn why(pattern: &[&str], stack: &[&'static str]) -> String {
        let nodes: Vec<_> = stack.iter().map(|name| Node::Layer(LayerInfo::plain(name, 1))).collect();
        why_not(pattern, &nodes)
    }

    #[test]
    fn the_reason_is_where_the_pattern_came_furthest() {
        assert_eq!(why(&["a::Zip", "a::Tls"], &["b::Log"]), "there is no Zip in the stack");
        assert_eq!(why(&["a::Zip", "a::Tls"], &[]), "there is no Zip in the stack");
        assert_eq!(
            why(&["a::Zip", "a::Tls"], &["a::Zip", "b::Log", "a::Tls"]),
            "below Zip stands Log where Tls should be"
        );
        assert_eq!(
            why(&["a::Zip", "a::Tls"], &["b::Log", "a::Zip"]),
            "below Zip stands nothing where Tls should be"
        );
        assert_eq!(
            why(&["a::Zip", "*", "a::Tls"], &["a::Zip", "b::Log"]),
            "below Zip / * stands nothing where Tls should be"
        );
        assert_eq!(
            why(&["a::Zip"], &["a::Zip"]),
            "Zip stands there, but at another place or with other parameters"
        );
    }

    #[test]
    fn alternatives_are_lists_of_their_own() {
        let zip = || Node::Layer(LayerInfo::plain("a::Zip", 1));
        let tls = || Node::Layer(LayerInfo::plain("a::Tls", 1));
        let choice = Node::Select { branches: [vec![tls()], vec![]], prefer: 0.into() };
        assert_eq!(
            why_not(&["a::Zip", "a::Tls"], &[zip(), choice]),
            "below Zip stands a select! where Tls should be"
        );
    }
}
