//! Topics in Amazon SQS and SNS as the bottom of a stack.
