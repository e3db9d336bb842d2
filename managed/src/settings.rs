//! The settings of an engine, as an operator writes them.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::str::FromStr;

/// Settings with names: `per-second=1000 burst=10`. Each is taken once; one that is left is unknown.
///
/// # Example
/// ```
/// use bertha_managed::Settings;
///
/// let mut settings: Settings = "per-second=1000 burst=10".parse()?;
/// assert_eq!(settings.take("per-second")?, Some(1000));
/// assert_eq!(settings.finish().unwrap_err().to_string(), "the setting burst=10 is unknown");
/// # Ok::<(), bertha_managed::Unsuitable>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings(BTreeMap<String, String>);

/// A setting that an engine does not take, or state that it does not understand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsuitable(String);

impl Unsuitable {
    /// Makes an error of what is wrong, where, and what would be right.
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl Display for Unsuitable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsuitable {}

impl Settings {
    /// Takes a setting, if there is one of this name.
    ///
    /// # Errors
    /// Fails with the setting and the reason if its value is none of the type.
    pub fn take<T: FromStr<Err: Display>>(&mut self, name: &str) -> Result<Option<T>, Unsuitable> {
        let Some(value) = self.0.remove(name) else { return Ok(None) };
        match value.parse() {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(Unsuitable(format!("the setting {name}={value} is not understood: {error}"))),
        }
    }

    /// Takes a list with commas between its elements, which may be empty.
    pub fn take_list(&mut self, name: &str) -> Option<Vec<String>> {
        let list = self.0.remove(name)?;
        Some(list.split(',').filter(|element| !element.is_empty()).map(Into::into).collect())
    }

    /// Sets what others set, in place of what was set before.
    pub fn set_all_of(&mut self, others: &Self) {
        self.0.extend(others.0.iter().map(|(name, value)| (name.clone(), value.clone())));
    }

    /// Returns true if there are settings of all names that others have.
    pub fn have_all_of(&self, others: &Self) -> bool {
        others.0.keys().all(|name| self.0.contains_key(name))
    }

    /// Returns an error if a setting has not been taken.
    ///
    /// # Errors
    /// Fails with the name of such a setting.
    pub fn finish(self) -> Result<(), Unsuitable> {
        match self.0.first_key_value() {
            Some((name, value)) => Err(Unsuitable(format!("the setting {name}={value} is unknown"))),
            None => Ok(()),
        }
    }
}

impl Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, value)) in self.0.iter().enumerate() {
            write!(f, "{}{name}={value}", if place == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

impl FromStr for Settings {
    type Err = Unsuitable;

    fn from_str(text: &str) -> Result<Self, Unsuitable> {
        let mut settings = BTreeMap::new();
        for setting in text.split_whitespace() {
            let (name, value) = setting.split_once('=').ok_or_else(|| {
                Unsuitable(format!("the setting {setting} has no value, as in {setting}=10"))
            })?;
            if settings.insert(name.to_owned(), value.to_owned()).is_some() {
                return Err(Unsuitable(format!("the setting {name} is there twice")));
            }
        }
        Ok(Self(settings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_refused_by_name() {
        let refusal = |text: &str| text.parse::<Settings>().unwrap_err().to_string();
        assert_eq!(refusal("burst"), "the setting burst has no value, as in burst=10");
        assert_eq!(refusal("a=1 b=2 a=3"), "the setting a is there twice");
        let mut settings: Settings = " a=x  list=,b,c, ".parse().unwrap();
        let wrong = settings.take::<u64>("a").unwrap_err().to_string();
        assert_eq!(wrong, "the setting a=x is not understood: invalid digit found in string");
        assert_eq!(settings.take_list("list").unwrap(), ["b", "c"]);
        assert_eq!(settings.take_list("list"), None);
        settings.finish().unwrap();
    }

    #[test]
    fn later_settings_take_the_place_of_earlier_ones() {
        let mut settings: Settings = "b=2 a=1".parse().unwrap();
        settings.set_all_of(&"c=4 b=3".parse().unwrap());
        assert_eq!(settings.to_string(), "a=1 b=3 c=4");
    }
}
