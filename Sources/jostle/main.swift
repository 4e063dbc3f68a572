internal import Glibc

// If the reader closes our pipe, the write fails; the program must not be killed.
signal(SIGPIPE, SIG_IGN)
exit(Tool.main(Array(CommandLine.arguments.dropFirst())).rawValue)
