module entityserver

go 1.19
