/// The program's version: semantic versioning; its interface is what the README marks as contract.
let version = "0.1.0"
