//! Settings in environment variables.

use super::{failure, from_file};
use bertha_core::{Error, ErrorKind};
use serde::de::DeserializeOwned;
use std::path::Path;
use toml::Value;

/// The environment variables of a datapath, whose names begin with a common prefix. An empty variable counts
/// as not set.
#[derive(Debug)]
pub struct Variables<F> {
    datapath: &'static str,
    prefix: &'static str,
    find: F,
}

impl Variables<fn(&str) -> Option<String>> {
    /// Returns the variables of the process for `datapath`, which errors name.
    pub fn of_process(datapath: &'static str, prefix: &'static str) -> Self {
        Self::new(datapath, prefix, |name| std::env::var(name).ok())
    }
}

impl<F: Fn(&str) -> Option<String>> Variables<F> {
    /// Returns the variables that `find` knows.
    pub fn new(datapath: &'static str, prefix: &'static str, find: F) -> Self {
        Self { datapath, prefix, find }
    }

    /// Reads the settings from the file that `PREFIX_CONFIG` names; the default settings if this variable is
    /// not set.
    ///
    /// # Errors
    /// Errors of [`from_file`].
    pub fn file<T: DeserializeOwned + Default>(&self) -> Result<T, Error> {
        match self.text("CONFIG") {
            Some(path) => from_file(self.datapath, Path::new(&path)),
            None => Ok(T::default()),
        }
    }

    /// Replaces a setting by the value of the variable `PREFIX_NAME`, if it is set: a text, a number, `true`
    /// or `false`, or the name of an alternative as in TOML.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the value does not fit the setting; the text names the variable and
    /// its value.
    pub fn replace<T: DeserializeOwned>(&self, setting: &mut T, name: &str) -> Result<(), Error> {
        let Some(text) = self.text(name) else { return Ok(()) };
        let read = match Value::String(text.clone()).try_into() {
            Ok(value) => Ok(value),
            // The value may be a number or a truth value. If it is neither, the first error says what is
            // expected.
            Err(error) => literal(&text).and_then(|value| value.try_into().ok()).ok_or(error),
        };
        *setting = read.map_err(|error| self.wrong(name, &text, error))?;
        Ok(())
    }

    /// Replaces a list by the values in the variable `PREFIX_NAME`, if it is set: texts, or types that serde
    /// makes of texts. Blanks around the values are ignored.
    ///
    /// # Errors
    /// The errors of [`replace`](Self::replace).
    pub fn replace_list<T: DeserializeOwned>(
        &self,
        setting: &mut T,
        name: &str,
        separator: char,
    ) -> Result<(), Error> {
        let Some(text) = self.text(name) else { return Ok(()) };
        let items = text.split(separator).map(str::trim).filter(|item| !item.is_empty());
        let items = items.map(|item| Value::String(item.to_owned())).collect();
        *setting = Value::Array(items).try_into().map_err(|error| self.wrong(name, &text, error))?;
        Ok(())
    }

    fn text(&self, name: &str) -> Option<String> {
        (self.find)(&format!("{}_{name}", self.prefix)).filter(|text| !text.is_empty())
    }

    #[cold]
    fn wrong(&self, name: &str, text: &str, error: toml::de::Error) -> Error {
        let what = format!("{}_{name} is `{text}`: {}", self.prefix, error.message());
        failure(self.datapath, ErrorKind::Invalid, what).because(error)
    }
}

/// Parses a number or a truth value of TOML.
fn literal(text: &str) -> Option<Value> {
    if let Ok(number) = text.parse() {
        return Some(Value::Integer(number));
    }
    text.parse().ok().map(Value::Boolean)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests panic to fail")]

    use super::*;
    use serde::Deserialize;
    use std::net::IpAddr;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(rename_all = "kebab-case")]
    enum Mode {
        #[default]
        InLine,
        Thread,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default)]
    struct Config {
        name: String,
        port: Option<u16>,
        fast: bool,
        mode: Mode,
        routers: Vec<IpAddr>,
        arguments: Option<Vec<String>>,
    }

    fn read(pairs: &[(&str, &str)]) -> Result<Config, Error> {
        let find = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, it)| it.to_string());
        let variables = Variables::new("example", "EXAMPLE", find);
        let mut config: Config = variables.file()?;
        variables.replace(&mut config.name, "NAME")?;
        variables.replace(&mut config.port, "PORT")?;
        variables.replace(&mut config.fast, "FAST")?;
        variables.replace(&mut config.mode, "MODE")?;
        variables.replace_list(&mut config.routers, "ROUTERS", ',')?;
        variables.replace_list(&mut config.arguments, "ARGUMENTS", ' ')?;
        Ok(config)
    }

    #[test]
    fn each_variable_replaces_its_setting() {
        assert_eq!(read(&[("EXAMPLE_NAME", "")]).unwrap(), Config::default());
        let config = read(&[
            // A setting of text takes any value as text, even if it looks like a number.
            ("EXAMPLE_NAME", "7"),
            ("EXAMPLE_PORT", "7"),
            ("EXAMPLE_FAST", "true"),
            ("EXAMPLE_MODE", "thread"),
            ("EXAMPLE_ROUTERS", "10.0.0.1, fd00::1"),
            ("EXAMPLE_ARGUMENTS", "-l  0,1"),
        ]);
        let expected = Config {
            name: "7".into(),
            port: Some(7),
            fast: true,
            mode: Mode::Thread,
            routers: vec!["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()],
            arguments: Some(vec!["-l".into(), "0,1".into()]),
        };
        assert_eq!(config.unwrap(), expected);
    }

    #[test]
    fn errors_name_the_variable_its_value_and_the_alternatives() {
        for (name, value, expected) in [
            ("EXAMPLE_PORT", "65536", "u16"),
            ("EXAMPLE_PORT", "-1", "u16"),
            ("EXAMPLE_FAST", "1", "boolean"),
            ("EXAMPLE_MODE", "both", "`in-line`"),
            ("EXAMPLE_ROUTERS", "10.0.0.1,x", "IP"),
            ("EXAMPLE_CONFIG", "/nowhere.toml", "/nowhere.toml"),
        ] {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            let names = name == "EXAMPLE_CONFIG" || error.contains(name);
            assert!(names && error.contains(value) && error.contains(expected), "{error}");
        }
    }
}
