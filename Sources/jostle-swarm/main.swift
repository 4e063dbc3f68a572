internal import Glibc
internal import JostleCommandLine

// If the reader closes our pipe, the write fails; the program must not be killed.
signal(SIGPIPE, SIG_IGN)
exit(SwarmCommand.command.main(Array(CommandLine.arguments.dropFirst())).rawValue)
