module lockstep.bench/generator

go 1.22
