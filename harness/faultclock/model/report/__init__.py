"""What a judgement comes to, and what is made of it: findings, reports, certificates."""
