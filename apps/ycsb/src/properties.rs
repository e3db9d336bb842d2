//! Property files, in the syntax of Java's `.properties` that YCSB uses.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// Names and values as they were written; a later value replaces an earlier value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties(BTreeMap<String, String>);

impl Properties {
    /// Reads a file, and lets its properties replace existing properties.
    ///
    /// # Errors
    /// [`PropertyError::Unreadable`] if the file cannot be read, [`PropertyError::BadEscape`] if its text is
    /// malformed; the existing properties then stay as they are.
    pub fn read_file(&mut self, path: &Path) -> Result<(), PropertyError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| PropertyError::Unreadable { path: path.display().to_string(), source })?;
        self.0.extend(parse(&text)?);
        Ok(())
    }

    /// Adds a single `name=value`, as given to `-p`.
    ///
    /// # Errors
    /// [`PropertyError::NotAnAssignment`] if there is no `=` or no name.
    pub fn set(&mut self, assignment: &str) -> Result<(), PropertyError> {
        match assignment.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                self.0.insert(name.trim().to_owned(), value.trim().to_owned());
                Ok(())
            }
            _ => Err(PropertyError::NotAnAssignment(assignment.to_owned())),
        }
    }

    /// Returns the value as it was written.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the value as a `T`, or `default` if there is no value.
    ///
    /// # Errors
    /// [`PropertyError::BadValue`] if the value does not parse; `expected` describes the values that do.
    pub fn parsed<T: FromStr>(
        &self,
        name: &'static str,
        default: T,
        expected: &'static str,
    ) -> Result<T, PropertyError> {
        match self.get(name) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| PropertyError::BadValue {
                name,
                value: text.to_owned(),
                expected: expected.to_owned(),
            }),
        }
    }

    /// Returns all names in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl FromStr for Properties {
    type Err = PropertyError;

    fn from_str(text: &str) -> Result<Self, PropertyError> {
        Ok(Self(parse(text)?.collect()))
    }
}

fn parse(text: &str) -> Result<impl Iterator<Item = (String, String)>, PropertyError> {
    let mut pairs = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, first)) = lines.next() {
        let first = first.trim_start();
        if first.is_empty() || first.starts_with(['#', '!']) {
            continue;
        }
        let mut line = first.to_owned();
        while line.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1 {
            line.pop();
            line.push_str(lines.next().map_or("", |(_, more)| more.trim_start()));
        }
        let (name, value) = split(&line);
        let read = |text| unescape(text).ok_or(PropertyError::BadEscape { line: number + 1 });
        // Java keeps blanks at the end of a value. No YCSB property has a use for them, and numbers with them
        // do not parse.
        pairs.push((read(name)?, read(value.trim_end())?));
    }
    Ok(pairs.into_iter())
}

/// Splits a line at the first `=`, `:` or blank that is not escaped.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        if !escaped && (c == '=' || c == ':' || c.is_whitespace()) {
            let rest = line[at..].trim_start();
            return (&line[..at], rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start());
        }
        escaped = c == '\\' && !escaped;
    }
    (line, "")
}

fn unescape(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        plain.push(match chars.next()? {
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'f' => '\u{c}',
            'u' => {
                let digits = chars.as_str().get(..4)?;
                chars.nth(3);
                char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
            }
            other => other,
        });
    }
    Some(plain)
}

/// The reason why properties can't be used.
#[derive(Debug)]
pub enum PropertyError {
    /// The file could not be read.
    Unreadable {
        /// The file.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A backslash begins no known escape.
    BadEscape {
        /// Number of the line, counted from 1.
        line: usize,
    },
    /// An override is not of the form `name=value`.
    NotAnAssignment(String),
    /// The value of a known property is not permitted.
    BadValue {
        /// The property.
        name: &'static str,
        /// The value in the file.
        value: String,
        /// The permitted values.
        expected: String,
    },
    /// The property asks for something that this client does not support.
    Unsupported {
        /// The property.
        name: &'static str,
        /// The value in the file.
        value: String,
        /// The value to write instead, and the reason.
        advice: &'static str,
    },
}

impl fmt::Display for PropertyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, .. } => write!(f, "cannot read the property file {path}"),
            Self::BadEscape { line } => {
                write!(f, "line {line}: a backslash is not followed by an escape; write \\\\ for a backslash")
            }
            Self::NotAnAssignment(text) => write!(f, "`{text}` is not of the form name=value"),
            Self::BadValue { name, value, expected } => {
                write!(f, "{name}={value}: expected {expected}")
            }
            Self::Unsupported { name, value, advice } => {
                write!(f, "{name}={value} is not supported: {advice}")
            }
        }
    }
}

impl std::error::Error for PropertyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_java_syntax() {
        let text = "# note\n! note\n\n  a=1\nb : 2 \nc 3\nd\ne=x\\\n   y\nf\\=g=\\u0041\\t\\\\\na=4\n";
        let read: Properties = text.parse().unwrap();
        let pairs: Vec<_> = read.names().map(|name| (name, read.get(name).unwrap())).collect();
        assert_eq!(pairs, [("a", "4"), ("b", "2"), ("c", "3"), ("d", ""), ("e", "xy"), ("f=g", "A\t\\")]);
    }

    #[test]
    fn names_the_line_of_a_bad_escape() {
        let error = "a=1\nb=\\u12\n".parse::<Properties>().unwrap_err();
        assert!(matches!(error, PropertyError::BadEscape { line: 2 }), "{error}");
    }

    #[test]
    fn an_override_replaces_and_must_be_an_assignment() {
        let mut properties: Properties = "a=1".parse().unwrap();
        properties.set(" a = 2=3").unwrap();
        assert_eq!(properties.get("a"), Some("2=3"));
        for bad in ["a", "=1", ""] {
            assert!(matches!(properties.set(bad), Err(PropertyError::NotAnAssignment(_))), "{bad}");
        }
    }
}
