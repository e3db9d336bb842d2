//! The settings of algorithms.

use bertha_core::{Error, ErrorKind};
use std::fmt;
use std::ops::RangeInclusive;

/// A number that an algorithm takes.
#[derive(Debug)]
pub struct Setting<A> {
    /// The name, such as `beta`.
    pub name: &'static str,
    /// The meaning, in a few words.
    pub meaning: &'static str,
    /// The values that are allowed.
    pub range: RangeInclusive<f64>,
    pub(super) field: fn(&mut A) -> &mut f64,
}

/// An algorithm with settings, by their names.
///
/// ```
/// use bertha_ccp::algorithms::{Configure, Cubic};
///
/// # fn main() -> Result<(), bertha_core::Error> {
/// let mut cubic = Cubic::default();
/// cubic.set("beta", 0.8)?;
/// assert!(cubic.set("beta", 1.5).is_err());
/// # Ok(()) }
/// ```
pub trait Configure: Default + 'static {
    /// All settings.
    const SETTINGS: &'static [Setting<Self>];

    /// Sets a number for flows that begin from now on.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if there is no such setting, or if it does not take this value; the text names what is allowed.
    fn set(&mut self, name: &str, value: f64) -> Result<(), Error> {
        let invalid = |what: String| Error::new(ErrorKind::Invalid, what).at("CCP");
        let Some(setting) = Self::SETTINGS.iter().find(|setting| setting.name == name) else {
            let names: Vec<_> = Self::SETTINGS.iter().map(|setting| setting.name).collect();
            return Err(invalid(format!("there is no setting `{name}`, only {}", names.join(", "))));
        };
        if !setting.range.contains(&value) {
            return Err(invalid(format!("{name} is {value}; allowed is {}", Span(&setting.range))));
        }
        *(setting.field)(self) = value;
        Ok(())
    }
}

impl<A: Configure> fmt::Display for Setting<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = *(self.field)(&mut A::default());
        write!(f, "{}: {}; {}, by default {default}", self.name, self.meaning, Span(&self.range))
    }
}

/// The values between two.
struct Span<'a>(&'a RangeInclusive<f64>);

impl fmt::Display for Span<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.0.start(), self.0.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{Copa, Cubic, Dctcp, Vegas};

    fn check<A: Configure>() {
        for setting in A::SETTINGS {
            let default = *(setting.field)(&mut A::default());
            assert!(setting.range.contains(&default), "{setting}");
            let (least, most) = (*setting.range.start(), *setting.range.end());
            let mut algorithm = A::default();
            for value in [least, most] {
                algorithm.set(setting.name, value).unwrap();
                assert_eq!(*(setting.field)(&mut algorithm), value);
            }
            for value in [least - 1e-9, most + 1e-9, f64::NAN, f64::INFINITY, -0.0] {
                let told = algorithm.set(setting.name, value).unwrap_err().to_string();
                let allowed = format!("{} is {value}; allowed is {least} to {most}", setting.name);
                assert!(told.contains(&allowed), "{told}");
                assert_eq!(*(setting.field)(&mut algorithm), most, "it is as before");
            }
        }
        let told = A::default().set("speed", 1.0).unwrap_err().to_string();
        assert!(told.contains("`speed`") && told.contains(A::SETTINGS[0].name), "{told}");
    }

    #[test]
    fn settings_take_what_is_in_their_ranges_and_name_them() {
        check::<Copa>();
        check::<Cubic>();
        check::<Dctcp>();
        check::<Vegas>();
    }
}
