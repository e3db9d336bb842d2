mod agreement;
mod hostile;
mod values;
