//! The settings of algorithms, as the command line has them.

use bertha_ccp::algorithms::{Configure, Copa, Cubic, Dctcp, Vegas};
use bertha_core::Error;
use std::str::FromStr;

/// The algorithms that have settings, and their numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) copa: Copa,
    pub(crate) copa_default: Copa,
    pub(crate) cubic: Cubic,
    pub(crate) dctcp: Dctcp,
    pub(crate) vegas: Vegas,
}

/// An assignment such as `cubic.beta=0.8`, which was checked.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    algorithm: String,
    setting: String,
    value: f64,
}

impl Settings {
    /// Makes the settings by these assignments, of which later ones win. Copa does not compete if it must not.
    ///
    /// # Errors
    /// Errors of [`Configure::set`], which no assignment has that was parsed.
    pub(crate) fn new(copa: Copa, assignments: &[Assignment]) -> Result<Self, Error> {
        let mut settings = Self {
            copa,
            copa_default: Copa::without_competition(),
            cubic: Cubic::default(),
            dctcp: Dctcp::default(),
            vegas: Vegas::default(),
        };
        for Assignment { algorithm, setting, value } in assignments {
            settings.set(algorithm, setting, *value).transpose()?;
        }
        Ok(settings)
    }

    /// Sets a number. Returns `None` if no such algorithm has settings.
    fn set(&mut self, algorithm: &str, setting: &str, value: f64) -> Option<Result<(), Error>> {
        Some(match algorithm {
            "copa" => self.copa.set(setting, value),
            "copa-default" => self.copa_default.set(setting, value),
            "cubic" => self.cubic.set(setting, value),
            "dctcp" => self.dctcp.set(setting, value),
            "vegas" => self.vegas.set(setting, value),
            _ => return None,
        })
    }
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=').and_then(|(name, value)| Some((name.split_once('.')?, value)));
        let Some(((algorithm, setting), value)) = parts else {
            return Err("a setting is ALGORITHM.SETTING=NUMBER, such as cubic.beta=0.8".to_owned());
        };
        let value = value.parse().map_err(|_| format!("`{value}` is no number"))?;
        let assignment = Self { algorithm: algorithm.to_owned(), setting: setting.to_owned(), value };
        let mut settings = Settings::new(Copa::default(), &[]).map_err(|error| error.to_string())?;
        match settings.set(algorithm, setting, value) {
            Some(Ok(())) => Ok(assignment),
            Some(Err(error)) => Err(format!("{algorithm}: {}", error.context())),
            None => {
                Err(format!("`{algorithm}` has no settings; copa, copa-default, cubic, dctcp and vegas have"))
            }
        }
    }
}

/// Returns the text about all settings.
pub(crate) fn help() -> String {
    fn lines<A: Configure>(algorithm: &str) -> String {
        A::SETTINGS.iter().map(|setting| format!("\n{algorithm}.{setting}")).collect()
    }
    let algorithms = [
        lines::<Copa>("copa"),
        lines::<Copa>("copa-default"),
        lines::<Cubic>("cubic"),
        lines::<Dctcp>("dctcp"),
        lines::<Vegas>("vegas"),
    ];
    format!(
        "Sets a number of an algorithm for all of its flows, ALGORITHM.SETTING=NUMBER; algorithms without a line here have no settings.\n{}",
        algorithms.concat()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_setting_is_named_with_what_is_allowed() {
        for (text, told) in [
            ("cubic.beta", "ALGORITHM.SETTING=NUMBER"),
            ("beta=0.8", "ALGORITHM.SETTING=NUMBER"),
            ("cubic.beta=much", "`much` is no number"),
            ("cubik.beta=0.8", "`cubik` has no settings; copa, copa-default, cubic, dctcp and vegas have"),
            ("bbr.gain=2", "`bbr` has no settings"),
            ("cubic.bta=0.8", "cubic: there is no setting `bta`, only c, beta"),
            ("cubic.beta=1.5", "cubic: beta is 1.5; allowed is 0.1 to 0.95"),
            ("vegas.alpha=NaN", "vegas: alpha is NaN; allowed is 1 to 1000"),
        ] {
            let error = text.parse::<Assignment>().unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn the_help_has_what_can_be_set() {
        let help = help();
        for line in help.lines().skip(2) {
            let (name, rest) = line.split_once(':').unwrap();
            let (_, default) = rest.rsplit_once("by default ").unwrap();
            assert!(format!("{name}={default}").parse::<Assignment>().is_ok(), "{line}");
        }
        assert_eq!(help.lines().count(), 2 + 7);
    }
}
