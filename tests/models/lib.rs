//! Model checkers of the agreement protocols, each a test: the agreement between two ends under an attacker,
//! a first flight that arrives late or twice, and a rendezvous of many participants with crashes. The package
//! is separate since it is built with optimisation: the models have millions of states.
