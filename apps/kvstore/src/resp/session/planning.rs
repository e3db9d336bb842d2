//! Dividing commands into operations, and who may give them.

use super::{BURST, Session, Step};
use crate::resp::{Command, Hello, Login, Operation};

const NO_LOGIN: &str = "NOAUTH Authentication required.";

const NO_LOGIN_IN_HELLO: &str = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH \
     <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time";

const WRONG_PASSWORD: &str = "WRONGPASS invalid username-password pair or user is disabled.";

const NO_PASSWORD: &str = "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
     configuration is correct?";

impl Session<'_> {
    /// Divides the commands of the next burst into operations on the store, and what has to be made of their outcomes. Nothing behind a command
    /// that ends the connection is looked at.
    pub(super) fn plan(&mut self) {
        while self.steps.len() < BURST
            && let Some(command) = self.waiting.pop()
        {
            let command = self.admit(command);
            let ends = matches!(command, Command::Quit | Command::Web | Command::Malformed(_));
            let step = self.step(command);
            self.steps.push(step);
            if ends {
                break;
            }
        }
        if !self.is_known && !self.client.is_stranger() {
            self.is_known = true;
            self.shared.places.know(self.client);
        }
    }

    fn step(&mut self, command: Command) -> Step {
        match command {
            Command::One(operation) => {
                self.operations.push(operation);
                Step::One
            }
            Command::GetEach(keys) => {
                let count = keys.len();
                self.operations.extend(keys.into_iter().map(Operation::Get));
                Step::Each(count)
            }
            Command::DeleteEach(keys) => {
                let count = keys.len();
                self.operations.extend(keys.into_iter().map(Operation::Delete));
                Step::Sum(count)
            }
            Command::CountEach(keys) => {
                let count = keys.len();
                self.operations.extend(keys.into_iter().map(Operation::Exists));
                Step::Sum(count)
            }
            here => Step::Here(here),
        }
    }

    /// The command itself if the client may give it; else a refusal. Clients log in here, so that the next command counts as theirs.
    fn admit(&mut self, command: Command) -> Command {
        match command {
            Command::Login(login) => match self.log_in(&login) {
                Ok(()) => Command::Noted,
                Err(refused) => Command::Refused(refused.to_owned()),
            },
            Command::Hello(Hello { login: Some(login), version, name }) => match self.log_in(&login) {
                Ok(()) => Command::Hello(Hello { login: None, version, name }),
                Err(refused) => Command::Refused(refused.to_owned()),
            },
            Command::Hello(_) if self.client.is_stranger() => Command::Refused(NO_LOGIN_IN_HELLO.to_owned()),
            Command::Hello(_)
            | Command::BadLogin(_)
            | Command::Quit
            | Command::Web
            | Command::Malformed(_) => command,
            _ if self.client.is_stranger() => Command::Refused(NO_LOGIN.to_owned()),
            command => command,
        }
    }

    fn log_in(&mut self, login: &Login) -> Result<(), &'static str> {
        let is_right = match &self.shared.settings.password {
            None if !login.has_user => return Err(NO_PASSWORD),
            // The only user needs no password.
            None => true,
            Some(password) => password.is(&login.password),
        };
        if !is_right || login.is_of_nobody {
            return Err(WRONG_PASSWORD);
        }
        self.client.set_stranger(false);
        Ok(())
    }
}
