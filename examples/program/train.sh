#!/bin/sh
# Stands for a program that trains: train.sh --C VALUE --gamma VALUE prints a score, which is 1 at C = 10, gamma = 0.1.
echo "training with C = $2 and gamma = $4"
sleep "${TRAIN_SECONDS:-1}"
awk -v C="$2" -v gamma="$4" 'BEGIN {print 1 - (log(C / 10) ^ 2 + log(gamma / 0.1) ^ 2) / 100}'
