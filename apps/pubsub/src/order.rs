//! The commands that a participant takes from its standard input, one command per line.

use std::fmt;
use std::time::Duration;

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    /// Publish `count` messages with a pause before each; without pauses, as fast as possible.
    Publish { count: u64, pause: Duration },
    /// Change to this alternative.
    Upgrade { alternative: usize },
    /// Leave the topic.
    Leave,
}

/// A line that is no command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mistyped(String);

impl Order {
    /// Parses the command of a line; `None` if the line is empty.
    pub(crate) fn parse(line: &str) -> Result<Option<Self>, Mistyped> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mistyped = || Mistyped(line.to_owned());
        let number = |word: &str| word.parse::<u64>().map_err(|_| mistyped());
        match words[..] {
            [] => Ok(None),
            ["publish", count, pause] => {
                let pause = Duration::from_millis(number(pause)?);
                Ok(Some(Self::Publish { count: number(count)?, pause }))
            }
            ["upgrade", alternative] => {
                let alternative = usize::try_from(number(alternative)?).map_err(|_| mistyped())?;
                Ok(Some(Self::Upgrade { alternative }))
            }
            ["leave"] => Ok(Some(Self::Leave)),
            _ => Err(mistyped()),
        }
    }
}

impl fmt::Display for Mistyped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let commands = "`publish COUNT MILLISECONDS`, `upgrade ALTERNATIVE` or `leave`";
        write!(f, "{:?}: a command is {commands}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_understood_and_nothing_else() {
        let pause = Duration::from_millis(2);
        assert_eq!(Order::parse("publish 20 2"), Ok(Some(Order::Publish { count: 20, pause })));
        assert_eq!(Order::parse(" upgrade  1 "), Ok(Some(Order::Upgrade { alternative: 1 })));
        assert_eq!(Order::parse("leave"), Ok(Some(Order::Leave)));
        assert_eq!(Order::parse(" "), Ok(None));
        for line in
            ["publish", "publish 20", "publish 20 2 3", "publish x 2", "publish -1 2", "upgrade", "leave 1"]
        {
            assert_eq!(Order::parse(line), Err(Mistyped(line.into())));
        }
    }
}
