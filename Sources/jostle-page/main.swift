internal import Glibc
internal import JostlePage

// If a browser closes its connection, the write fails; the program must not be killed.
signal(SIGPIPE, SIG_IGN)
exit(PageCommand.command.main(Array(CommandLine.arguments.dropFirst())).rawValue)
