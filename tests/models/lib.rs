//! Model checkers of the protocols that agree, each a test: the agreement between two ends under an attacker, a first flight that
//! arrives late or twice, and a rendezvous of many with crashes. A package of its own, since it is built with optimisation: their
//! states are millions.
