/// The program's version: semantic versioning, with what is marked as contract in the README as its interface.
let version = "0.1.0"
