//! A checker of JSON by a schema in CDDL (RFC 8610), as much of it as the schema of qlog needs: closed maps, arrays with an occurrence,
//! alternatives, literal texts, and the types of numbers.

use serde_json::Value;
use std::collections::HashMap;

/// A type.
#[derive(Debug, Clone)]
enum Type {
    Named(String),
    Literal(String),
    /// Fields, and true if any other field may stand beside them.
    Map(Vec<Field>, bool),
    /// The smallest and the largest number of elements, and their type.
    Array(usize, usize, Box<Type>),
    OneOf(Vec<Type>),
}

#[derive(Debug, Clone)]
struct Field {
    name: String,
    is_optional: bool,
    of: Type,
}

/// The rules of a schema, by name.
pub(crate) struct Schema(HashMap<String, Type>);

impl Schema {
    /// Reads the rules.
    pub(crate) fn parse(text: &str) -> Self {
        let lines = text.lines().map(|line| line.split(';').next().unwrap_or_default());
        let mut tokens = Tokens { rest: tokens(&lines.collect::<Vec<_>>().join("\n")), at: 0 };
        let mut rules = HashMap::new();
        while let Some(name) = tokens.next() {
            tokens.expect("=");
            assert!(
                rules.insert(name.clone(), tokens.alternatives()).is_none(),
                "two rules are called {name}"
            );
        }
        Self(rules)
    }

    /// Checks a value by the rule `name`.
    pub(crate) fn check(&self, value: &Value, name: &str) -> Result<(), String> {
        self.matches(value, &Type::Named(name.into())).map_err(|what| format!("{what}, in {value}"))
    }

    fn matches(&self, value: &Value, of: &Type) -> Result<(), String> {
        let wrong = || Err(format!("{value} is no {of:?}"));
        let ok = match of {
            Type::Literal(text) => value.as_str() == Some(text),
            Type::OneOf(types) => types.iter().any(|of| self.matches(value, of).is_ok()),
            Type::Array(min, max, of) => {
                let Value::Array(elements) = value else { return wrong() };
                elements.iter().try_for_each(|element| self.matches(element, of))?;
                (*min..=*max).contains(&elements.len())
            }
            Type::Map(fields, is_open) => {
                let Value::Object(map) = value else { return wrong() };
                for field in fields {
                    match map.get(&field.name) {
                        Some(value) => self
                            .matches(value, &field.of)
                            .map_err(|what| format!("{}: {what}", field.name))?,
                        None if field.is_optional => {}
                        None => return Err(format!("{} is missing", field.name)),
                    }
                }
                let unknown = map.keys().find(|key| !fields.iter().any(|field| field.name == **key));
                match unknown {
                    Some(key) if !is_open => return Err(format!("no field is called {key}")),
                    _ => true,
                }
            }
            Type::Named(name) => match &name[..] {
                "any" => true,
                "text" => value.is_string(),
                "bool" => value.is_boolean(),
                "float32" | "float64" => value.is_number(),
                "uint8" => value.as_u64().is_some_and(|number| u8::try_from(number).is_ok()),
                "uint16" => value.as_u64().is_some_and(|number| u16::try_from(number).is_ok()),
                "uint32" => value.as_u64().is_some_and(|number| u32::try_from(number).is_ok()),
                "uint64" => value.is_u64(),
                name => {
                    let rule = self.0.get(name).unwrap_or_else(|| panic!("no rule is called {name}"));
                    return self.matches(value, rule);
                }
            },
        };
        if ok { Ok(()) } else { wrong() }
    }
}

/// Splits a text into names, literals in quotes and signs.
fn tokens(text: &str) -> Vec<String> {
    let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let (mut tokens, mut rest) = (Vec::new(), text.trim_start());
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '"' => rest[1..].find('"').unwrap() + 2,
            '=' if rest.starts_with("=>") => 2,
            letter if is_of_name(letter) => rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len()),
            sign => sign.len_utf8(),
        };
        tokens.push(rest[..len].to_owned());
        rest = rest[len..].trim_start();
    }
    tokens
}

struct Tokens {
    rest: Vec<String>,
    at: usize,
}

impl Tokens {
    fn next(&mut self) -> Option<String> {
        self.at += 1;
        self.rest.get(self.at - 1).cloned()
    }

    /// Takes the token if it is next.
    fn take(&mut self, token: &str) -> bool {
        let is_next = self.rest.get(self.at).is_some_and(|next| next == token);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, token: &str) {
        assert!(self.take(token), "{token} is missing before {:?}", &self.rest[self.at..][..5]);
    }

    fn alternatives(&mut self) -> Type {
        let mut types = vec![self.single()];
        while self.take("/") {
            types.push(self.single());
        }
        if types.len() == 1 { types.remove(0) } else { Type::OneOf(types) }
    }

    fn single(&mut self) -> Type {
        match &self.next().unwrap()[..] {
            "{" => self.map(),
            "[" => {
                let (min, max) = match &self.next().unwrap()[..] {
                    "*" => (0, usize::MAX),
                    "+" => (1, usize::MAX),
                    min => {
                        self.expect("*");
                        (min.parse().unwrap(), self.next().unwrap().parse().unwrap())
                    }
                };
                let of = self.alternatives();
                self.expect("]");
                Type::Array(min, max, Box::new(of))
            }
            literal if literal.starts_with('"') => Type::Literal(literal.trim_matches('"').into()),
            name => Type::Named(name.into()),
        }
    }

    fn map(&mut self) -> Type {
        let (mut fields, mut is_open) = (Vec::new(), false);
        while !self.take("}") {
            if self.take("*") {
                ["text", "=>", "any"].iter().for_each(|token| self.expect(token));
                is_open = true;
            } else {
                let is_optional = self.take("?");
                let name = self.next().unwrap();
                self.expect(":");
                fields.push(Field { name, is_optional, of: self.alternatives() });
            }
            self.take(",");
        }
        Type::Map(fields, is_open)
    }
}

#[test]
fn the_checker_refuses_what_the_schema_does_not_say() {
    let schema = Schema::parse(
        "A = { a: uint8, ? b: [1*2 B] / \"none\" } ; a comment\nB = { c: \"x\" / \"y\", * text => any }",
    );
    let check = |json: &str| schema.check(&serde_json::from_str(json).unwrap(), "A");
    for good in [r#"{"a":255}"#, r#"{"a":0,"b":[{"c":"x"},{"c":"y","d":1}]}"#, r#"{"a":0,"b":"none"}"#] {
        assert_eq!(check(good), Ok(()));
    }
    for bad in [
        r#"{}"#,
        r#"{"a":256}"#,
        r#"{"a":-1}"#,
        r#"{"a":1.5}"#,
        r#"{"a":"1"}"#,
        r#"{"a":1,"c":1}"#,
        r#"{"a":1,"b":[]}"#,
        r#"{"a":1,"b":[{"c":"z"}]}"#,
        r#"{"a":1,"b":[{"c":"x"},{"c":"x"},{"c":"x"}]}"#,
        r#"{"a":1,"b":[{"d":"x"}]}"#,
        r#"{"a":1,"b":"some"}"#,
        "[]",
    ] {
        assert!(check(bad).is_err(), "{bad}");
    }
}
