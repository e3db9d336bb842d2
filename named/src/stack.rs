//! The grammar of stacks.
//!
//! ```text
//! stack   = element *("," element)
//! element = branch *("|" branch)
//! branch  = name ["=" value] / "(" stack ")"
//! ```

use crate::layer::known;
use crate::{Layer, Unknown};
use std::fmt;
use std::str::FromStr;

/// Deepest nesting of brackets, and largest number of layers in a stack.
const DEEPEST: usize = 8;
const LONGEST: usize = 32;

/// A parsed stack, top first. The empty text is the stack without Chunnels.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stack {
    pub(crate) elements: Vec<Element>,
    text: String,
}

/// An element of a stack.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Element {
    Layer(Layer),
    /// Two or more branches, the preferred branch first.
    Alternatives(Vec<Vec<Element>>),
}

impl Stack {
    /// Returns the names of Chunnels with their values, for human readers.
    pub fn known() -> String {
        known()
    }

    /// Returns true if the stack has this layer, in an alternative or not.
    pub(crate) fn has(&self, wanted: &Layer) -> bool {
        self.find(&|layer| layer == wanted).is_some()
    }

    /// Returns the first layer, in an alternative or not, of which `wanted` is true.
    pub(crate) fn find(&self, wanted: &dyn Fn(&Layer) -> bool) -> Option<&Layer> {
        find(&self.elements, wanted)
    }
}

fn find<'s>(elements: &'s [Element], wanted: &dyn Fn(&Layer) -> bool) -> Option<&'s Layer> {
    elements.iter().find_map(|element| match element {
        Element::Layer(layer) => wanted(layer).then_some(layer),
        Element::Alternatives(branches) => branches.iter().find_map(|branch| find(branch, wanted)),
    })
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Stack {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        let squeezed: String = text.chars().filter(|character| !character.is_whitespace()).collect();
        if squeezed.is_empty() {
            return Ok(Self::default());
        }
        let mut reader = Reader { rest: &squeezed, layers: 0 };
        let elements = reader.stack(0)?;
        match reader.rest {
            "" => Ok(Self { elements, text: squeezed.clone() }),
            rest => Err(Unknown::new(format!("`{rest}` is left over: elements are separated by commas"))),
        }
    }
}

struct Reader<'t> {
    rest: &'t str,
    layers: usize,
}

impl Reader<'_> {
    fn stack(&mut self, depth: usize) -> Result<Vec<Element>, Unknown> {
        if depth > DEEPEST {
            return Err(Unknown::new(format!("brackets are nested more than {DEEPEST} deep")));
        }
        let mut elements = Vec::new();
        loop {
            let mut branches = vec![self.branch(depth)?];
            while self.takes('|') {
                branches.push(self.branch(depth)?);
            }
            match branches.len() {
                1 => elements.extend(branches.into_iter().flatten()),
                _ => elements.push(Element::Alternatives(branches)),
            }
            if !self.takes(',') {
                return Ok(elements);
            }
        }
    }

    fn branch(&mut self, depth: usize) -> Result<Vec<Element>, Unknown> {
        if self.takes('(') {
            let stack = self.stack(depth + 1)?;
            return if self.takes(')') { Ok(stack) } else { Err(Unknown::new("a bracket is not closed")) };
        }
        let end = self.rest.find([',', '|', '(', ')']).unwrap_or(self.rest.len());
        let (layer, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.layers += 1;
        if self.layers > LONGEST {
            return Err(Unknown::new(format!("there are more than {LONGEST} layers")));
        }
        if layer.is_empty() {
            return Err(Unknown::new("a name is missing between two separators or at an end"));
        }
        let layer = match layer.split_once('=') {
            Some((name, value)) => Layer::named(name, Some(value))?,
            None => Layer::named(layer, None)?,
        };
        Ok(vec![Element::Layer(layer)])
    }

    fn takes(&mut self, separator: char) -> bool {
        match self.rest.strip_prefix(separator) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    fn elements(text: &str) -> Vec<Element> {
        text.parse::<Stack>().unwrap().elements
    }

    #[test]
    fn layers_and_alternatives_are_read_top_first() {
        assert_eq!(elements(""), []);
        assert_eq!(
            elements(" ordered, reliable"),
            [Element::Layer(Layer::Ordered), Element::Layer(Layer::Reliable { congestion: None })]
        );
        let [Element::Alternatives(branches), Element::Layer(Layer::Batch)] =
            &elements("checksum|(tls,(ordered,reliable)|nothing),batch")[..]
        else {
            panic!("an element is missing")
        };
        assert_eq!(branches[0], [Element::Layer(Layer::Checksum)]);
        assert_eq!(branches[1].len(), 2, "TLS, and a choice: {branches:?}");
    }

    #[test]
    fn text_that_is_no_stack_is_refused_with_the_reason() {
        for (text, reason) in [
            ("ordred", "knows at-most-once"),
            ("ordered,", "missing"),
            (",", "missing"),
            ("|tls", "missing"),
            ("(tls", "not closed"),
            ("tls)", "left over"),
            ("tls(", "left over"),
            ("((((((((((tls))))))))))", "nested"),
        ] {
            let refusal = text.parse::<Stack>().unwrap_err().to_string();
            assert!(refusal.contains(reason), "{text}: {refusal}");
        }
        let long = vec!["nothing"; LONGEST + 1].join(",");
        assert!(long.parse::<Stack>().unwrap_err().to_string().contains("more than 32"));
    }
}
